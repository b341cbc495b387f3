// The class `documented`: the library as its examples teach it. An informer of each kind with its cache of whole objects,
// and the typed APIs.
//
// Guarantees: nothing of the library's defaults is changed. Leaves to others: what is done (reconcile.ts).

import {
    ApiException,
    AppsV1Api,
    CoreV1Api,
    CustomObjectsApi,
    KubeConfig,
    PatchStrategy,
    makeInformer,
    setHeaderOptions,
    type KubernetesObject,
    type ObjectCache,
    type V1DeleteOptions,
} from '@kubernetes/client-node';

import { GROUP, MANAGER, PLURAL, VERSION, deploymentChild, serviceChild } from '../edgeapp.js';
import type { Body, Child, EdgeApp, Status } from '../edgeapp.js';
import { run } from '../operator.js';
import { ApiError, type Children } from '../reconcile.js';

const config = new KubeConfig();
config.loadFromDefault();
const appsApi = config.makeApiClient(AppsV1Api);
const coreApi = config.makeApiClient(CoreV1Api);
const customApi = config.makeApiClient(CustomObjectsApi);

const crd = { group: GROUP, version: VERSION, plural: PLURAL };
const apps = makeInformer<EdgeApp>(config, `/apis/${GROUP}/${VERSION}/${PLURAL}`, () =>
    customApi.listCustomObjectForAllNamespaces(crd),
);
const deployments = makeInformer(config, '/apis/apps/v1/deployments', () => appsApi.listDeploymentForAllNamespaces());
const services = makeInformer(config, '/api/v1/services', () => coreApi.listServiceForAllNamespaces());

const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

interface Named {
    namespace: string;
    name: string;
}

/** The methods of a typed API for one kind. */
interface TypedRequests<T> {
    read(request: Named): Promise<T>;
    create(request: { namespace: string; body: T; fieldManager: string }): Promise<T>;
    patch(request: Named & { body: Body; fieldManager: string }): Promise<T>;
    remove(request: Named & { body: V1DeleteOptions }): Promise<unknown>;
}

function children<T extends KubernetesObject>(
    cache: ObjectCache<T>,
    see: (object: T) => Child,
    api: TypedRequests<T>,
): Children {
    const fieldManager = MANAGER;
    return {
        cached: ({ metadata }) => {
            const object = cache.get(metadata.name, metadata.namespace);
            return object && see(object);
        },
        read: async (app) => see(await answered(api.read(named(app)))),
        create: async (app, object) => {
            const { namespace } = app.metadata;
            return see(await answered(api.create({ namespace, body: object as unknown as T, fieldManager })));
        },
        patch: async (app, body) => see(await answered(api.patch({ ...named(app), body, fieldManager }))),
        remove: (app, uid) => answered(api.remove({ ...named(app), body: { preconditions: { uid } } })),
    };
}

/** The cached object with another status: its resourceVersion is the condition. */
function writeStatus(app: EdgeApp, status: Status): Promise<unknown> {
    const request = { ...crd, ...named(app), body: { ...app, status }, fieldManager: MANAGER };
    return answered(customApi.replaceNamespacedCustomObjectStatus(request));
}

function named({ metadata: { namespace, name } }: EdgeApp): Named {
    return { namespace, name };
}

async function answered<T>(request: Promise<T>): Promise<T> {
    try {
        return await request;
    } catch (error) {
        if (error instanceof ApiException) throw new ApiError(error.code, String(error.body));
        throw error;
    }
}

const cluster = {
    app: (namespace: string, name: string) => apps.get(name, namespace),
    deployments: children(deployments, deploymentChild, {
        read: (request) => appsApi.readNamespacedDeployment(request),
        create: (request) => appsApi.createNamespacedDeployment(request),
        patch: (request) => appsApi.patchNamespacedDeployment(request, mergePatch),
        remove: (request) => appsApi.deleteNamespacedDeployment(request),
    }),
    services: children(services, serviceChild, {
        read: (request) => coreApi.readNamespacedService(request),
        create: (request) => coreApi.createNamespacedService(request),
        patch: (request) => coreApi.patchNamespacedService(request, mergePatch),
        remove: (request) => coreApi.deleteNamespacedService(request),
    }),
    writeStatus,
};
await run({ apps, deployments, services }, cluster);
