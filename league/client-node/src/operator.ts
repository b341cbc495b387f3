// The run of either class: arguments, the admin port, the order of the start, the end.
//
// Guarantees: no reconcile begins before every cache has its first list, so that a child that is not in one is missing
// indeed; /readyz answers 200 from then on. Leaves to others: the informers and the requests of a class.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import type { Informer, KubernetesObject } from '@kubernetes/client-node';

import * as metrics from './metrics.js';
import { Again, WorkQueue } from './queue.js';
import { reconcile, type Cluster } from './reconcile.js';

/** From the library's example of an informer. */
const RESTART_AFTER_MS = 5000;

export interface Informers {
    apps: Informer<KubernetesObject>;
    deployments: Informer<KubernetesObject>;
    services: Informer<KubernetesObject>;
}

export async function run({ apps, deployments, services }: Informers, cluster: Cluster): Promise<void> {
    const admin = listen();
    const queue = new WorkQueue((key) => measured(cluster, key));
    for (const informer of [apps, deployments, services]) {
        // A child has the name of its EdgeApp.
        informer.on('change', ({ metadata }) => queue.add(`${metadata?.namespace}/${metadata?.name}`));
    }
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void queue.stop().then(() => process.exit(0)));
    await Promise.all([started(deployments, 'Deployments'), started(services, 'Services'), started(apps, 'EdgeApps')]);
    queue.start();
    admin.ready = true;
}

async function measured(cluster: Cluster, key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const start = performance.now();
    try {
        await reconcile(cluster, namespace, name);
    } catch (error) {
        if (!(error instanceof Again)) {
            metrics.countFailure();
            console.error(`EdgeApp ${key}: ${error instanceof Error ? error.message : String(error)}`);
        }
        throw error;
    } finally {
        metrics.countReconcile((performance.now() - start) / 1000);
    }
}

/** Starts an informer, also after each error; resolves when it has its first list and an open watch. */
function started(informer: Informer<KubernetesObject>, what: string): Promise<void> {
    return new Promise((resolve) => {
        let failed = false;
        // It does not reject: what is wrong comes as an event.
        const start = async () => {
            failed = false;
            await informer.start();
            if (!failed) resolve();
        };
        informer.on('error', (error) => {
            failed = true;
            console.error(`cannot watch ${what}: ${error}`);
            setTimeout(start, RESTART_AFTER_MS);
        });
        void start();
    });
}

/** Serves /livez, /readyz and /metrics on --admin HOST:PORT. */
function listen(): { ready: boolean } {
    const { values } = parseArgs({ options: { admin: { type: 'string', default: '127.0.0.1:8080' } } });
    const { hostname, port } = new URL(`http://${values.admin}`);
    const state = { ready: false };
    const pages: Record<string, () => [number, string]> = {
        '/livez': () => [200, 'ok'],
        '/readyz': () => (state.ready ? [200, 'ok'] : [503, 'the caches have no list yet']),
        '/metrics': () => [200, metrics.page()],
    };
    const server = createServer((request, response) => {
        const [code, body] = pages[request.url ?? '']?.() ?? [404, `try ${Object.keys(pages).join(', ')}`];
        response.writeHead(code, { 'content-type': 'text/plain; version=0.0.4' }).end(body);
    });
    server.listen(Number(port), hostname);
    return state;
}
