// What is counted, in Prometheus' text format, under the names and in the buckets of the other operators of the testbed.

/** Inclusive upper bounds in seconds: four per power of two from 2^-16 s (15 µs) to 64 s. */
const BOUNDS = [2 ** -16];
for (let octave = -16; octave < 6; octave++) {
    for (const quarter of [1, 2, 3, 4]) BOUNDS.push(2 ** octave * (1 + quarter / 4));
}

const counts = new Uint32Array(BOUNDS.length + 1);
let sumSeconds = 0;
let failures = 0;

/** Counts one call of the reconcile function. */
export function countReconcile(seconds: number): void {
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
    counts[bucket < 0 ? BOUNDS.length : bucket]! += 1;
    sumSeconds += seconds;
}

export function countFailure(): void {
    failures += 1;
}

/** Buckets are written where the count changes. */
export function page(): string {
    const lines = ['# TYPE reconcile_duration_seconds histogram'];
    let count = 0;
    counts.forEach((here, bucket) => {
        count += here;
        const bound = BOUNDS[bucket];
        if (here > 0 && bound !== undefined) lines.push(`reconcile_duration_seconds_bucket{le="${bound}"} ${count}`);
    });
    const { rss } = process.memoryUsage();
    lines.push(
        `reconcile_duration_seconds_bucket{le="+Inf"} ${count}`,
        `reconcile_duration_seconds_sum ${sumSeconds}`,
        `reconcile_duration_seconds_count ${count}`,
        '# TYPE reconcile_errors_total counter',
        `reconcile_errors_total ${failures}`,
        '# TYPE process_resident_memory_bytes gauge',
        `process_resident_memory_bytes ${rss}`,
        '',
    );
    return lines.join('\n');
}
