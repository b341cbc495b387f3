// One reconcile: what is done about one EdgeApp, by both classes.
//
// Guarantees: a child that is as planned and a status that says nothing new cost no request; a child that is not ours is
// neither changed nor deleted, and every write to one names the uid that it is meant for. Leaves to others: the caches and
// the requests (Cluster), retries (queue.ts), and the children of a deleted EdgeApp to the garbage collector.

import * as edgeapp from './edgeapp.js';
import type { Body, Child, ChildKind, EdgeApp, Progress, Status } from './edgeapp.js';
import { Again } from './queue.js';

/** What the API server answered in place of a success. */
export class ApiError extends Error {
    constructor(
        readonly code: number,
        body: string,
    ) {
        super(messageOf(body));
    }
}

/** The body of a refusal is the text of a Status, unless something between here and the API server refuses. */
function messageOf(body: string): string {
    try {
        return (JSON.parse(body) as { message: string }).message;
    } catch {
        return body;
    }
}

/** The children of one kind: what a cache shows of them, and requests, which reject with an ApiError. */
export interface Children {
    cached(app: EdgeApp): Child | undefined;
    read(app: EdgeApp): Promise<Child>;
    create(app: EdgeApp, object: Body): Promise<Child>;
    /** A merge patch. */
    patch(app: EdgeApp, patch: Body): Promise<Child>;
    remove(app: EdgeApp, uid: string): Promise<unknown>;
}

export interface Cluster {
    app(namespace: string, name: string): EdgeApp | undefined;
    deployments: Children;
    services: Children;
    /** On condition that the app is at the version in hand. */
    writeStatus(app: EdgeApp, status: Status): Promise<unknown>;
}

/** There is one of that name, or the version in hand is not the newest. */
class Conflict extends Again {}

/** What the user can do something about: it becomes a condition. */
class Refusal extends Error {
    constructor(
        readonly reason: string,
        message: string,
    ) {
        super(message);
    }
}

export async function reconcile(cluster: Cluster, namespace: string, name: string): Promise<void> {
    const app = cluster.app(namespace, name);
    if (!app || app.metadata.deletionTimestamp) return;
    try {
        const progress = await bringAbout(cluster, app);
        await keepStatus(cluster, app, edgeapp.observed(app, progress));
    } catch (error) {
        if (error instanceof Refusal) {
            const child = cluster.deployments.cached(app);
            const progress = child && isOurs(app, child) ? child.progress : edgeapp.NO_PROGRESS;
            await keepStatus(cluster, app, edgeapp.degraded(app, progress, error.reason, error.message));
        }
        throw error;
    }
}

/** Makes the children what the plan says; how far the Deployment is. */
async function bringAbout(cluster: Cluster, app: EdgeApp): Promise<Progress> {
    const deployment = await ensure(cluster.deployments, app, 'Deployment', edgeapp.deploymentBody(app));
    const body = edgeapp.serviceBody(app);
    if (body) {
        await ensure(cluster.services, app, 'Service', body);
    } else {
        const left = cluster.services.cached(app);
        if (left && isOurs(app, left)) await explained('Service', app, () => cluster.services.remove(app, left.uid));
    }
    return deployment.progress;
}

async function ensure(children: Children, app: EdgeApp, kind: ChildKind, body: Body): Promise<Child> {
    const object = edgeapp.newChild(app, kind, body);
    const planned = kind === 'Deployment' ? edgeapp.deploymentChild(object) : edgeapp.serviceChild(object);
    let child = children.cached(app);
    if (!child) {
        try {
            return await explained(kind, app, () => children.create(app, object));
        } catch (error) {
            if (!(error instanceof Conflict)) throw error;
        }
        // The cache is behind, or does not hold children of others.
        child = await explained(kind, app, () => children.read(app));
    }
    checkOurs(app, kind, child);
    if (child.digest === planned.digest) return child;
    const { uid } = child;
    if (child.headless !== planned.headless) {
        // A cluster IP can neither be given up nor be gained.
        await explained(kind, app, () => children.remove(app, uid));
        return explained(kind, app, () => children.create(app, object));
    }
    const patch = { ...body, metadata: { ...(body.metadata as Body), uid } };
    return explained(kind, app, () => children.patch(app, patch));
}

/** Refuses a child that somebody else controls, or nobody. */
function checkOurs(app: EdgeApp, kind: ChildKind, child: Child): void {
    const { name } = app.metadata;
    const { controller } = child;
    if (isOurs(app, child) && !child.deleting) return;
    // That of an earlier EdgeApp of this name will be collected.
    if (child.deleting || (controller?.kind === edgeapp.KIND && controller.name === name)) throw new Again();
    throw new Refusal('Collision', edgeapp.collision(kind, name, child));
}

function isOurs(app: EdgeApp, child: Child): boolean {
    return child.controller?.uid === app.metadata.uid;
}

async function keepStatus(cluster: Cluster, app: EdgeApp, planned: Status): Promise<void> {
    const status = edgeapp.stamped(planned, app.status, new Date());
    if (status) await explained('EdgeApp', app, () => cluster.writeStatus(app, status));
}

/** Tells apart what the user has to know, what a newer object will solve, and the rest, which is tried again. */
async function explained<T>(kind: string, app: EdgeApp, request: () => Promise<T>): Promise<T> {
    try {
        return await request();
    } catch (error) {
        const { code, message } = error instanceof ApiError ? error : { code: 0, message: '' };
        const what = `${kind} "${app.metadata.name}"`;
        if (code === 404) throw new Again();
        if (code === 409) throw new Conflict();
        if (kind === 'EdgeApp') throw error;
        if (code === 400 || code === 422) throw new Refusal('Rejected', `the API server refuses ${what}: ${message}`);
        if (code === 403) throw new Refusal('Forbidden', `may not write ${what}: ${message}`);
        throw error;
    }
}
