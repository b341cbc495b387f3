// An operator's work with the official Node client: client.js KUBECONFIG NAMESPACE.
//
// Creates, gets, lists, watches, changes the status of and deletes a Widget and a Deployment. Prints each step before it begins.
// Guarantees: an answer that is not as expected ends it with an error. Leaves to others: the CRD, the namespace, and a bound on
// its time.

import assert from 'node:assert/strict';
import { ApiException, AppsV1Api, CustomObjectsApi, KubeConfig, Watch, makeInformer } from '@kubernetes/client-node';

const NAME = 'node';

function widgets(config, namespace) {
    const api = config.makeApiClient(CustomObjectsApi);
    const of = { group: 'contract.tare.dev', version: 'v1', namespace, plural: 'widgets' };
    return {
        kind: 'Widget',
        path: `/apis/contract.tare.dev/v1/namespaces/${namespace}/widgets`,
        create: (body) => api.createNamespacedCustomObject({ ...of, body }),
        get: () => api.getNamespacedCustomObject({ ...of, name: NAME }),
        list: () => api.listNamespacedCustomObject(of),
        replaceStatus: (body) => api.replaceNamespacedCustomObjectStatus({ ...of, name: NAME, body }),
        remove: () => api.deleteNamespacedCustomObject({ ...of, name: NAME }),
        object: {
            apiVersion: 'contract.tare.dev/v1',
            kind: 'Widget',
            metadata: { name: NAME },
            spec: { size: 1 },
        },
        setStatus: (widget) => (widget.status = { phase: 'Running' }),
        hasStatus: (widget) => widget.status?.phase === 'Running',
    };
}

function deployments(config, namespace) {
    const api = config.makeApiClient(AppsV1Api);
    const labels = { app: NAME };
    return {
        kind: 'Deployment',
        path: `/apis/apps/v1/namespaces/${namespace}/deployments`,
        create: (body) => api.createNamespacedDeployment({ namespace, body }),
        get: () => api.readNamespacedDeployment({ namespace, name: NAME }),
        list: () => api.listNamespacedDeployment({ namespace }),
        replaceStatus: (body) => api.replaceNamespacedDeploymentStatus({ namespace, name: NAME, body }),
        remove: () => api.deleteNamespacedDeployment({ namespace, name: NAME }),
        object: {
            metadata: { name: NAME },
            spec: {
                replicas: 0,
                selector: { matchLabels: labels },
                template: {
                    metadata: { labels },
                    spec: { containers: [{ name: 'main', image: 'registry.local/web:1.4' }] },
                },
            },
        },
        setStatus: ({ status }) => (status.conditions ??= []).push({ type: 'Contract', status: 'True' }),
        hasStatus: ({ status }) => Boolean(status.conditions?.some(({ type }) => type === 'Contract')),
    };
}

/** Events in their order: `next` waits for the first for which `is` holds, and drops those before it. */
class Events {
    #held = [];
    #wake = () => {};

    add(type, object) {
        this.#held.push({ type, object });
        this.#wake();
    }

    async next(is) {
        for (;;) {
            while (this.#held.length > 0) {
                const event = this.#held.shift();
                if (is(event)) return;
            }
            await new Promise((resolve) => (this.#wake = resolve));
        }
    }
}

async function refusedWith(code, request) {
    try {
        await request();
    } catch (error) {
        if (error instanceof ApiException && error.code === code) return true;
        throw error;
    }
    return false;
}

async function work(config, kind) {
    const step = (what) => console.log(`${kind.kind}: ${what}`);
    const is = (type) => (event) => event.type === type && event.object.metadata.name === NAME;

    step('list nothing');
    const empty = await kind.list();
    assert.deepEqual(empty.items, []);

    step('create');
    const created = await kind.create(kind.object);
    assert.equal(created.metadata.name, NAME);

    step('get');
    const read = await kind.get();
    assert.equal(read.metadata.uid, created.metadata.uid);

    step('list');
    const { items } = await kind.list();
    assert.deepEqual(items.map((item) => item.metadata.name), [NAME]);

    step('watch: created');
    const { resourceVersion } = empty.metadata;
    const events = new Events();
    const watch = await new Watch(config).watch(
        kind.path,
        { resourceVersion },
        (type, object) => events.add(type, object),
        (error) => error && events.add('ERROR', error),
    );
    await events.next(is('ADDED'));

    step('informer: created');
    const informed = new Events();
    const informer = makeInformer(config, kind.path, kind.list);
    informer.on('add', (object) => informed.add('ADDED', object));
    informer.on('delete', (object) => informed.add('DELETED', object));
    await informer.start();
    await informed.next(is('ADDED'));

    step('update the status');
    const changed = async () => {
        const object = await kind.get();
        kind.setStatus(object);
        assert(kind.hasStatus(await kind.replaceStatus(object)), 'the answer has the status');
    };
    // Whoever makes it ready may write in between.
    while (await refusedWith(409, changed));

    step('watch: status');
    await events.next((event) => event.type === 'MODIFIED' && kind.hasStatus(event.object));

    step('delete');
    await kind.remove();

    step('watch: deleted');
    await events.next(is('DELETED'));

    step('informer: deleted');
    await informed.next(is('DELETED'));

    step('get nothing');
    assert(await refusedWith(404, kind.get), 'it is gone');
    watch.abort();
    await informer.stop();
}

const [kubeconfig, namespace] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
for (const kind of [widgets, deployments]) {
    await work(config, kind(config, namespace));
}
