// The class `tuned`: the library's informers on pruned caches, and merge patches of plain JSON over kept connections. The
// settings of the runtime are in tuned.toml, the sources of both in the README.
//
// Guarantees: the same reconciles as `documented`. Leaves to others: what is done (reconcile.ts).

import { KubeConfig, type ListWatch } from '@kubernetes/client-node';

import { GROUP, MANAGED_BY_LABEL, MANAGER, PLURAL, VERSION, deploymentChild, serviceChild } from '../edgeapp.js';
import type { Child, EdgeApp, Status } from '../edgeapp.js';
import { run } from '../operator.js';
import type { Children } from '../reconcile.js';
import { Api } from './api.js';
import { pruneApp, pruneChild, prunedInformer, type CachedChild } from './cache.js';

const APPS = `/apis/${GROUP}/${VERSION}`;
const OURS = `${MANAGED_BY_LABEL}=${MANAGER}`;

const config = new KubeConfig();
config.loadFromDefault();
const api = new Api(config);

const apps = prunedInformer(config, api, `${APPS}/${PLURAL}`, pruneApp);
const deployments = prunedInformer(config, api, '/apis/apps/v1/deployments', pruneChild(deploymentChild), OURS);
const services = prunedInformer(config, api, '/api/v1/services', pruneChild(serviceChild), OURS);

function children(cache: ListWatch<CachedChild>, root: string, plural: string, see: (object: object) => Child): Children {
    const all = ({ metadata }: EdgeApp) => `${root}/namespaces/${metadata.namespace}/${plural}`;
    const one = (app: EdgeApp) => `${all(app)}/${app.metadata.name}`;
    return {
        cached: ({ metadata }) => cache.get(metadata.name, metadata.namespace)?.child,
        read: async (app) => see((await api.read(one(app))) as object),
        create: async (app, object) => see((await api.create(all(app), object)) as object),
        patch: async (app, patch) => see((await api.patch(one(app), patch)) as object),
        remove: (app, uid) => api.remove(one(app), uid),
    };
}

function writeStatus({ metadata }: EdgeApp, status: Status): Promise<unknown> {
    const { namespace, name, uid, resourceVersion } = metadata;
    const path = `${APPS}/namespaces/${namespace}/${PLURAL}/${name}/status`;
    // In a merge patch what is not named stays.
    return api.patch(path, { metadata: { uid, resourceVersion }, status: { ...status, endpoint: status.endpoint ?? null } });
}

const cluster = {
    app: (namespace: string, name: string) => apps.get(name, namespace),
    deployments: children(deployments, '/apis/apps/v1', 'deployments', deploymentChild),
    services: children(services, '/api/v1', 'services', serviceChild),
    writeStatus,
};
await run({ apps, deployments, services }, cluster);
