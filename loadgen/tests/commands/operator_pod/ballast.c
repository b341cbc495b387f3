/* Stands in for an operator: holds BALLAST_MB of memory, takes GROW_MB more each second, and tells its
 * resident memory on port PORT, where that is set. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* Seen from outside, or a compiler leaves out memory that nobody reads. */
char *volatile held;

static void hold(long megabytes) {
    char *memory;
    if (megabytes > 0 && (memory = malloc(megabytes << 20)) != NULL) {
        memset(memory, 1, megabytes << 20);
        held = memory;
    }
}

static long resident(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &all, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * sysconf(_SC_PAGESIZE);
}

static void answer(int client) {
    char request[4096], body[256], page[512];
    int length = read(client, request, sizeof request);
    if (length > 0) {
        int bytes = snprintf(body, sizeof body,
                             "process_resident_memory_bytes %ld\nprocess_cpu_seconds_total %f\n",
                             resident(), (double)clock() / CLOCKS_PER_SEC);
        int all = snprintf(page, sizeof page,
                           "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                           "Connection: close\r\n\r\n%s",
                           bytes, body);
        if (write(client, page, all) != all)
            puts("a short write");
    }
    close(client);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    hold(number("BALLAST_MB"));
    puts("holding its ballast");
    if (number("PORT") > 0) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(number("PORT"))};
        int server = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 16) != 0)
            return 1;
        for (;;) {
            int client = accept(server, NULL, NULL);
            if (client >= 0)
                answer(client);
        }
    }
    for (;;) {
        sleep(1);
        hold(number("GROW_MB"));
    }
}
