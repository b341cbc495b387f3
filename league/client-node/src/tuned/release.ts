// Gives freed memory back once nothing is reconciled any more: V8 collects while memory is asked for, and not while a
// program is idle. Needs --expose-gc; without it nothing is done.

/** As controller-runtime/tuned of this repository. */
const QUIET_MS = 7000;

/** Returns what has to be called at each reconcile. */
export function releaseWhenQuiet(): () => void {
    const timer = setTimeout(() => globalThis.gc?.(), QUIET_MS);
    return () => void timer.refresh();
}
