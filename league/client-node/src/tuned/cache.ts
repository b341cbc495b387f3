// The library's informer with a cache of what is needed, and nothing else.
//
// Guarantees: objects are pruned before the cache sees them, page by page in a list; a bookmark moves the version, so that a
// quiet kind is not listed again. Leaves recovery to the library's ListWatch.

import { ListWatch, Watch, type KubeConfig, type KubernetesListObject } from '@kubernetes/client-node';

import type { Child, EdgeApp } from '../edgeapp.js';
import type { Api } from './api.js';

/** Objects of a list that are in memory as a whole at one time. */
const PAGE = 100;

interface Cached {
    metadata: { namespace: string; name: string; resourceVersion: string };
}

export interface CachedChild extends Cached {
    child: Child;
}

/** Without what no reconcile reads: managedFields, annotations and labels are most of an object. */
export function pruneApp({ metadata, spec, status }: EdgeApp): EdgeApp {
    const { namespace, name, uid, generation, resourceVersion, deletionTimestamp } = metadata;
    return {
        metadata: { namespace, name, uid, generation, resourceVersion, ...(deletionTimestamp ? { deletionTimestamp } : {}) },
        spec,
        ...(status ? { status } : {}),
    };
}

export function pruneChild<O extends object>(see: (object: O) => Child): (object: O & Cached) => CachedChild {
    return (object) => {
        const { namespace, name, resourceVersion } = object.metadata;
        return { metadata: { namespace, name, resourceVersion }, child: see(object) };
    };
}

/** An informer of a kind in all namespaces, as makeInformer makes it, on a watch and a list that prune. */
export function prunedInformer<O, T extends Cached>(
    config: KubeConfig,
    api: Api,
    path: string,
    prune: (object: O) => T,
    selector?: string,
): ListWatch<T> {
    const list = () => listPruned(api, path, prune, selector);
    return new ListWatch<T>(path, new PruningWatch(config, prune), list, false, selector);
}

/** Events of other phases have a Status, or an object with nothing but a version. */
const WITH_OBJECT = new Set(['ADDED', 'MODIFIED', 'DELETED']);

class PruningWatch<O> extends Watch {
    readonly #prune: (object: O) => unknown;

    constructor(config: KubeConfig, prune: (object: O) => unknown) {
        super(config);
        this.#prune = prune;
    }

    override watch(...[path, parameters, onEvent, onEnd]: Parameters<Watch['watch']>): ReturnType<Watch['watch']> {
        const pruned = (phase: string, object: O) => onEvent(phase, WITH_OBJECT.has(phase) ? this.#prune(object) : object);
        return super.watch(path, { ...parameters, allowWatchBookmarks: true }, pruned, onEnd);
    }
}

async function listPruned<O, T extends Cached>(
    api: Api,
    path: string,
    prune: (object: O) => T,
    selector?: string,
): Promise<KubernetesListObject<T>> {
    const items: T[] = [];
    let next: string | undefined;
    for (;;) {
        const parameters = new URLSearchParams({ limit: String(PAGE) });
        if (selector) parameters.set('labelSelector', selector);
        if (next) parameters.set('continue', next);
        const page = (await api.read(`${path}?${parameters}`)) as { metadata: Record<string, string>; items: O[] };
        items.push(...page.items.map(prune));
        next = page.metadata.continue;
        if (!next) return { metadata: page.metadata, items };
    }
}
