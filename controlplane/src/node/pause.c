/* Does nothing until it is asked to end: what holds a pod's namespaces, and a pod's work in tests.
 * As the first process of its namespace it would not be ended by SIGTERM; it waits for it instead. */
#include <signal.h>

int main(void) {
    sigset_t ends;
    int which;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, 0);
    while (sigwait(&ends, &which) != 0) {
    }
    return 0;
}
