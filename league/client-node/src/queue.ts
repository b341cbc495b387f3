// Keys that wait for work, since the library has no queue of its own.
//
// Guarantees: a key waits once and is worked on by one worker at a time; one that is added during its work is worked on
// again; a failed one comes back after a pause of its own, which doubles. Leaves to others: what the work is.

/** Thrown by work that is no failure: what it needs is on its way. */
export class Again extends Error {}

export interface Limits {
    workers: number;
    againMs: number;
    firstPauseMs: number;
    longestPauseMs: number;
}

export const DEFAULT_LIMITS: Limits = {
    // As the other operators that bound it.
    workers: 16,
    againMs: 500,
    // Those of client-go: DefaultTypedControllerRateLimiter.
    firstPauseMs: 5,
    longestPauseMs: 1_000_000,
};

export class WorkQueue {
    /** In the order in which they were added. */
    readonly #waiting = new Set<string>();
    /** In work; true where the key was added meanwhile. */
    readonly #working = new Map<string, boolean>();
    readonly #paused = new Map<string, NodeJS.Timeout>();
    readonly #failures = new Map<string, number>();
    readonly #work: (key: string) => Promise<void>;
    readonly #limits: Limits;
    #open = false;
    #whenIdle: (() => void) | undefined;

    constructor(work: (key: string) => Promise<void>, limits = DEFAULT_LIMITS) {
        this.#work = work;
        this.#limits = limits;
    }

    add(key: string): void {
        clearTimeout(this.#paused.get(key));
        this.#paused.delete(key);
        if (this.#working.has(key)) this.#working.set(key, true);
        else this.#waiting.add(key);
        this.#next();
    }

    /** Keys may be added before. */
    start(): void {
        this.#open = true;
        this.#next();
    }

    /** Resolves when the work that has begun is done. */
    async stop(): Promise<void> {
        this.#open = false;
        this.#paused.forEach(clearTimeout);
        if (this.#working.size > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    }

    #next(): void {
        for (const key of this.#waiting) {
            if (!this.#open || this.#working.size >= this.#limits.workers) return;
            this.#waiting.delete(key);
            this.#working.set(key, false);
            void this.#run(key);
        }
    }

    async #run(key: string): Promise<void> {
        let pauseMs: number | undefined;
        try {
            await this.#work(key);
            this.#failures.delete(key);
        } catch (error) {
            pauseMs = error instanceof Again ? this.#limits.againMs : this.#pauseOf(key);
        }
        const addedMeanwhile = this.#working.get(key);
        this.#working.delete(key);
        if (addedMeanwhile) this.#waiting.add(key);
        else if (pauseMs !== undefined && this.#open) this.#paused.set(key, setTimeout(() => this.add(key), pauseMs));
        this.#next();
        if (this.#working.size === 0) this.#whenIdle?.();
    }

    #pauseOf(key: string): number {
        const failures = this.#failures.get(key) ?? 0;
        this.#failures.set(key, failures + 1);
        return Math.min(this.#limits.firstPauseMs * 2 ** failures, this.#limits.longestPauseMs);
    }
}
