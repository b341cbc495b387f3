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
    type V1Deployment,
    type V1Service,
} from '@kubernetes/client-node';

import {
    GROUP,
    MANAGER,
    PLURAL,
    VERSION,
    deploymentChild,
    serviceChild,
    type DeploymentObject,
    type EdgeApp,
    type ServiceObject,
    type Status,
} from '../edgeapp.js';
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
const named = ({ metadata: { namespace, name } }: EdgeApp) => ({ namespace, name });

const deploymentRequests: Children = {
    cached: ({ metadata }) => {
        const object = deployments.get(metadata.name, metadata.namespace);
        return object && deploymentChild(object as DeploymentObject);
    },
    read: (app) => answer(deploymentChild, appsApi.readNamespacedDeployment(named(app))),
    create: (app, object) => {
        const { namespace } = named(app);
        const body = object as unknown as V1Deployment;
        return answer(deploymentChild, appsApi.createNamespacedDeployment({ namespace, body, fieldManager: MANAGER }));
    },
    patch: (app, body) => {
        const request = { ...named(app), body, fieldManager: MANAGER };
        return answer(deploymentChild, appsApi.patchNamespacedDeployment(request, mergePatch));
    },
    remove: (app, uid) => done(appsApi.deleteNamespacedDeployment({ ...named(app), body: { preconditions: { uid } } })),
};

const serviceRequests: Children = {
    cached: ({ metadata }) => {
        const object = services.get(metadata.name, metadata.namespace);
        return object && serviceChild(object as ServiceObject);
    },
    read: (app) => answer(serviceChild, coreApi.readNamespacedService(named(app))),
    create: (app, object) => {
        const { namespace } = named(app);
        const body = object as unknown as V1Service;
        return answer(serviceChild, coreApi.createNamespacedService({ namespace, body, fieldManager: MANAGER }));
    },
    patch: (app, body) => {
        const request = { ...named(app), body, fieldManager: MANAGER };
        return answer(serviceChild, coreApi.patchNamespacedService(request, mergePatch));
    },
    remove: (app, uid) => done(coreApi.deleteNamespacedService({ ...named(app), body: { preconditions: { uid } } })),
};

/** The cached object with another status: its resourceVersion is the condition. */
function writeStatus(app: EdgeApp, status: Status): Promise<unknown> {
    const request = { ...crd, ...named(app), body: { ...app, status }, fieldManager: MANAGER };
    return done(customApi.replaceNamespacedCustomObjectStatus(request));
}

async function answer<T, C>(see: (object: T) => C, request: Promise<unknown>): Promise<C> {
    return see((await done(request)) as T);
}

async function done<T>(request: Promise<T>): Promise<T> {
    try {
        return await request;
    } catch (error) {
        if (error instanceof ApiException) throw new ApiError(error.code, messageOf(error.body));
        throw error;
    }
}

/** The body of a refusal is the text of a Status. */
function messageOf(body: unknown): string {
    try {
        return (JSON.parse(String(body)) as { message: string }).message;
    } catch {
        return String(body);
    }
}

const cluster = {
    app: (namespace: string, name: string) => apps.get(name, namespace),
    deployments: deploymentRequests,
    services: serviceRequests,
    writeStatus,
};
await run({ apps, deployments, services }, cluster);
