// The contract of the queue, on mocked time.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Again, WorkQueue, type Limits } from './queue.js';

const LIMITS: Limits = { workers: 2, againMs: 500, firstPauseMs: 10, longestPauseMs: 40 };

/** Lets everything run that waits for no timer. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Work that lasts until it is told to end. */
class Work {
    readonly begun: string[] = [];
    readonly #ends = new Map<string, (error?: Error) => void>();

    readonly run = (key: string) =>
        new Promise<void>((resolve, reject) => {
            this.begun.push(key);
            this.#ends.set(key, (error) => (error ? reject(error) : resolve()));
        });

    async end(key: string, error?: Error) {
        this.#ends.get(key)?.(error);
        await settle();
    }
}

test('nothing begins before the start, and a key waits once', async () => {
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.add('a');
    queue.add('a');
    assert.deepEqual(work.begun, []);
    queue.start();
    await work.end('a');
    assert.deepEqual(work.begun, ['a']);
});

test('no more keys are in work than there are workers, in their order', async () => {
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.start();
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    assert.deepEqual(work.begun, ['a', 'b']);
    await work.end('b');
    assert.deepEqual(work.begun, ['a', 'b', 'c']);
});

test('a key that is added during its work is worked on once more, after it', async () => {
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.start();
    queue.add('a');
    queue.add('a');
    queue.add('a');
    assert.deepEqual(work.begun, ['a']);
    await work.end('a');
    await work.end('a');
    assert.deepEqual(work.begun, ['a', 'a']);
});

test('the pause after failures doubles up to its bound, and success forgets it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.start();
    queue.add('a');
    const pauses = [10, 20, 40, 40];
    for (const [failures, pauseMs] of pauses.entries()) {
        await work.end('a', new Error('refused'));
        t.mock.timers.tick(pauseMs - 1);
        assert.equal(work.begun.length, failures + 1);
        t.mock.timers.tick(1);
        assert.equal(work.begun.length, failures + 2);
    }
    await work.end('a');
    queue.add('a');
    await work.end('a', new Error('refused'));
    t.mock.timers.tick(10);
    assert.equal(work.begun.length, pauses.length + 3);
});

test('work that asks for another time has it after a fixed pause', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.start();
    queue.add('a');
    for (const times of [2, 3]) {
        await work.end('a', new Again());
        t.mock.timers.tick(500);
        assert.equal(work.begun.length, times);
    }
});

test('an event ends a pause', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.start();
    queue.add('a');
    await work.end('a', new Error('refused'));
    queue.add('a');
    assert.equal(work.begun.length, 2);
    await work.end('a');
    t.mock.timers.tick(1000);
    assert.equal(work.begun.length, 2);
});

test('a stop waits for what has begun and begins nothing', async () => {
    const work = new Work();
    const queue = new WorkQueue(work.run, LIMITS);
    queue.start();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    let stopped = false;
    const stop = queue.stop().then(() => (stopped = true));
    await work.end('a');
    assert.equal(stopped, false);
    await work.end('b');
    await stop;
    assert.deepEqual(work.begun, ['a', 'b']);
});
