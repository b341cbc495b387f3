// What an EdgeApp is and what it becomes: the pure core that both classes share.
//
// Guarantees: no I/O and no clock; the same plan and status as the operators in Rust and Go (edgeapp.test.ts reads their
// fixtures). Leaves to others: how a plan is brought about (reconcile.ts).

import { createHash } from 'node:crypto';

export const GROUP = 'tare.dev';
export const VERSION = 'v1alpha1';
export const PLURAL = 'edgeapps';
export const KIND = 'EdgeApp';

/** The field manager, and the value of MANAGED_BY_LABEL. */
export const MANAGER = 'edgeapp-client-node';
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
export const OWNER_LABEL = 'tare.dev/owner';
/** Tells a Service that was made headless: the cluster IP cannot, since the server fills it in where none is asked for. */
const HEADLESS_LABEL = 'tare.dev/headless';
const CONTAINER = 'app';
const SERVICE_PORT = 80;

export interface EdgeApp {
    metadata: {
        namespace: string;
        name: string;
        uid: string;
        generation: number;
        resourceVersion: string;
        deletionTimestamp?: Date;
    };
    spec: Spec;
    status?: Status;
}

export interface Spec {
    image: string;
    /** The API server fills in 1. */
    replicas: number;
    port?: number;
    headless?: boolean;
    env?: { name: string; value: string }[];
    resources?: { requests?: Quantities; limits?: Quantities };
    accelerator?: { resource: string; count: number };
}

/** The schema allows 1 as well as "1". */
type Quantities = Record<string, string | number>;

export interface Status {
    phase?: 'Progressing' | 'Running' | 'Failed';
    replicas: number;
    readyReplicas: number;
    selector?: string;
    endpoint?: string;
    observedGeneration?: number;
    conditions?: Condition[];
}

export interface Condition {
    type: string;
    status: 'True' | 'False';
    reason: string;
    message: string;
    observedGeneration?: number;
    /** A plan has no clock: `stamped` fills it in. */
    lastTransitionTime?: string;
}

/** A child as JSON: the fields that are ours. A null has to be absent; in a merge patch it removes the field. */
export type Body = Record<string, unknown>;

export type ChildKind = 'Deployment' | 'Service';

/** What is needed of a child, of either kind. */
export interface Child {
    uid: string;
    /** Undefined where nobody controls it. */
    controller: { kind: string; name: string; uid: string } | undefined;
    deleting: boolean;
    /** Digest of the fields that a plan sets. */
    digest: number;
    /** A Service without a cluster IP. */
    headless: boolean;
    progress: Progress;
}

/** How far a Deployment has come; all zero for none. */
export interface Progress {
    exists: boolean;
    generation: number;
    observedGeneration: number;
    replicas: number;
    updatedReplicas: number;
    readyReplicas: number;
    /** Its controller gave up waiting (condition Progressing is False). */
    stalled: boolean;
}

export const NO_PROGRESS: Progress = {
    exists: false,
    generation: 0,
    observedGeneration: 0,
    replicas: 0,
    updatedReplicas: 0,
    readyReplicas: 0,
    stalled: false,
};

export function deploymentBody(app: EdgeApp): Body {
    const { name } = app.metadata;
    const { image, replicas, port, env, resources } = app.spec;
    const container = {
        name: CONTAINER,
        image,
        ports: port === undefined ? null : [{ containerPort: port, protocol: 'TCP' }],
        env: env?.length ? env.map(({ name, value }) => ({ name, value })) : null,
        resources: { requests: quantities(resources?.requests), limits: quantities(limits(app.spec)) },
    };
    return {
        metadata: { labels: labels(name) },
        spec: {
            replicas,
            selector: { matchLabels: { [OWNER_LABEL]: name } },
            template: { metadata: { labels: { [OWNER_LABEL]: name } }, spec: { containers: [container] } },
        },
    };
}

/** Undefined without a port. */
export function serviceBody(app: EdgeApp): Body | undefined {
    const { name } = app.metadata;
    const { port, headless } = app.spec;
    if (port === undefined) return undefined;
    return {
        metadata: { labels: { ...labels(name), [HEADLESS_LABEL]: headless ? 'true' : null } },
        spec: {
            selector: { [OWNER_LABEL]: name },
            ports: [{ port: SERVICE_PORT, targetPort: port, protocol: 'TCP' }],
            ...(headless ? { clusterIP: 'None' } : {}),
        },
    };
}

/** A plan as a new object that the app controls. */
export function newChild(app: EdgeApp, kind: ChildKind, body: Body): Body {
    const { namespace, name, uid } = app.metadata;
    const owner = { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, name, uid, controller: true, blockOwnerDeletion: true };
    const planned = withoutNulls(body) as { metadata: Body };
    return {
        apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
        kind,
        ...planned,
        metadata: { ...planned.metadata, namespace, name, ownerReferences: [owner] },
    };
}

/** An object of the API server, as far as it is looked at; a typed object of the library fits as well as its JSON. */
export interface ApiObject {
    metadata?: {
        uid?: string;
        generation?: number;
        labels?: Record<string, string>;
        deletionTimestamp?: Date;
        ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
    };
}

export interface DeploymentObject extends ApiObject {
    spec?: {
        replicas?: number;
        selector?: { matchLabels?: Record<string, string> };
        template?: { metadata?: { labels?: Record<string, string> }; spec?: { containers?: Container[] } };
    };
    status?: {
        observedGeneration?: number;
        replicas?: number;
        updatedReplicas?: number;
        readyReplicas?: number;
        conditions?: { type: string; status: string }[];
    };
}

interface Container {
    name: string;
    image?: string;
    ports?: { containerPort: number; protocol?: string }[];
    env?: { name: string; value?: string }[];
    resources?: { requests?: Quantities; limits?: Quantities };
}

export interface ServiceObject extends ApiObject {
    spec?: {
        clusterIP?: string;
        selector?: Record<string, string>;
        ports?: { port: number; targetPort?: number | string; protocol?: string }[];
    };
}

export function deploymentChild(object: DeploymentObject): Child {
    const { spec, status, metadata } = object;
    const template = spec?.template;
    return {
        ...common(object, [
            spec?.replicas,
            sorted(spec?.selector?.matchLabels),
            template?.metadata?.labels?.[OWNER_LABEL],
            template?.spec?.containers?.map(({ name, image, ports, env, resources }) => [
                name,
                image,
                ports?.map(({ containerPort, protocol }) => [containerPort, protocol]) ?? [],
                // The API server leaves an empty value out.
                env?.map(({ name, value }) => [name, value ?? '']) ?? [],
                amounts(resources?.requests),
                amounts(resources?.limits),
            ]),
        ]),
        headless: false,
        progress: {
            exists: true,
            generation: metadata?.generation ?? 0,
            observedGeneration: status?.observedGeneration ?? 0,
            replicas: status?.replicas ?? 0,
            updatedReplicas: status?.updatedReplicas ?? 0,
            readyReplicas: status?.readyReplicas ?? 0,
            stalled: status?.conditions?.some(({ type, status }) => type === 'Progressing' && status === 'False') ?? false,
        },
    };
}

export function serviceChild(object: ServiceObject): Child {
    const { spec, metadata } = object;
    const headless = spec?.clusterIP === 'None';
    return {
        ...common(object, [
            metadata?.labels?.[HEADLESS_LABEL],
            headless,
            sorted(spec?.selector),
            spec?.ports?.map(({ port, targetPort, protocol }) => [port, targetPort, protocol]),
        ]),
        headless,
        progress: NO_PROGRESS,
    };
}

/** The status that follows from the Deployment as it was last seen. */
export function observed(app: EdgeApp, progress: Progress): Status {
    const { name, generation } = app.metadata;
    const wanted = app.spec.replicas;
    // A Deployment tells of its own newest spec only once its controller has seen it.
    const current = progress.exists && progress.observedGeneration >= progress.generation;
    // While a Pod of the old template is left, nothing tells which of them are ready.
    const ready =
        current &&
        progress.updatedReplicas >= wanted &&
        progress.replicas <= progress.updatedReplicas &&
        progress.readyReplicas >= progress.updatedReplicas;
    const stalled = current && !ready && progress.stalled;
    const [reason, message] = ready
        ? ['AllReplicasReady', '']
        : stalled
          ? ['ProgressDeadlineExceeded', `Deployment "${name}" made no progress within its deadline; see its pods`]
          : ['WaitingForReplicas', `waiting for ${wanted} ready replicas`];
    return {
        ...counts(app, progress),
        phase: ready ? 'Running' : stalled ? 'Failed' : 'Progressing',
        observedGeneration: generation,
        conditions: [
            condition('Ready', ready, reason, message, generation),
            condition('Progressing', !ready && !stalled, reason, '', generation),
            condition('Degraded', stalled, reason, stalled ? message : '', generation),
        ],
    };
}

/** The status of an EdgeApp that cannot be brought about. Its spec is not observed: that generation stays what it was. */
export function degraded(app: EdgeApp, progress: Progress, reason: string, message: string): Status {
    const { generation } = app.metadata;
    const before = app.status?.observedGeneration;
    return {
        ...counts(app, progress),
        phase: 'Failed',
        ...(before === undefined ? {} : { observedGeneration: before }),
        conditions: [
            condition('Ready', false, reason, message, generation),
            condition('Progressing', false, reason, '', generation),
            condition('Degraded', true, reason, message, generation),
        ],
    };
}

/** The status with transition times, or undefined where it says nothing new. A time moves only with its condition's status. */
export function stamped(planned: Status, before: Status | undefined, now: Date): Status | undefined {
    const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
    const conditions = planned.conditions?.map((condition) => {
        const old = before?.conditions?.find(({ type, status }) => type === condition.type && status === condition.status);
        return { ...condition, lastTransitionTime: old?.lastTransitionTime ?? time };
    });
    const status = { ...planned, ...(conditions ? { conditions } : {}) };
    return canonical(status) === canonical(before) ? undefined : status;
}

/** Whose a child is that is not ours, and what to do about it. */
export function collision(kind: ChildKind, name: string, { controller }: Child): string {
    const whose = controller ? `belongs to ${controller.kind} "${controller.name}"` : 'was not made by this operator';
    return `${kind} "${name}" ${whose}; rename the EdgeApp or remove that ${kind}`;
}

function labels(name: string): Record<string, string> {
    return { [OWNER_LABEL]: name, [MANAGED_BY_LABEL]: MANAGER };
}

/** The limits with the accelerator among them: an extended resource is not overcommitted, its request follows. */
function limits({ resources, accelerator }: Spec): Quantities | undefined {
    if (!accelerator) return resources?.limits;
    return { ...resources?.limits, [accelerator.resource]: accelerator.count };
}

function quantities(of: Quantities | undefined): Record<string, string> | null {
    const entries = Object.entries(of ?? {});
    return entries.length ? Object.fromEntries(entries.map(([name, quantity]) => [name, String(quantity)])) : null;
}

function counts(app: EdgeApp, { replicas, readyReplicas }: Progress): Status {
    const { namespace, name } = app.metadata;
    const { port, headless } = app.spec;
    const status = { replicas, readyReplicas, selector: `${OWNER_LABEL}=${name}` };
    if (port === undefined) return status;
    // A headless Service maps no ports.
    return { ...status, endpoint: `${name}.${namespace}.svc:${headless ? port : SERVICE_PORT}` };
}

function condition(type: string, holds: boolean, reason: string, message: string, generation: number): Condition {
    return { type, status: holds ? 'True' : 'False', reason, message, observedGeneration: generation };
}

function common({ metadata }: ApiObject, planned: unknown[]): Pick<Child, 'uid' | 'controller' | 'deleting' | 'digest'> {
    const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
    const own = metadata?.labels ?? {};
    return {
        uid: metadata?.uid ?? '',
        controller: owner && { kind: owner.kind, name: owner.name, uid: owner.uid },
        deleting: metadata?.deletionTimestamp !== undefined,
        digest: digest([own[OWNER_LABEL], own[MANAGED_BY_LABEL], ...planned]),
    };
}

/** 48 bits: a number holds them, and one in 2^48 changes of a child goes unnoticed. */
function digest(value: unknown): number {
    return createHash('sha256').update(JSON.stringify(value)).digest().readUIntBE(0, 6);
}

function sorted<T>(of: Record<string, T> | undefined): [string, T][] {
    return Object.entries(of ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Equal quantities are equal here, however they are written: the API server keeps "1024Mi" as "1Gi". */
function amounts(of: Quantities | undefined): [string, number | string][] {
    return sorted(of).map(([name, quantity]) => [name, amount(String(quantity))]);
}

const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

function amount(quantity: string): number | string {
    const [, number, suffix = ''] = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(quantity) ?? [];
    const thousands = DECIMAL.indexOf(suffix) - DECIMAL.indexOf('');
    if (number === undefined) return quantity;
    if (BINARY.includes(suffix)) return Number(number) * 1024 ** BINARY.indexOf(suffix);
    if (!DECIMAL.includes(suffix)) return quantity;
    // Divided, not multiplied by a fraction: 70m has to equal 0.07.
    return thousands < 0 ? Number(number) / 1000 ** -thousands : Number(number) * 1000 ** thousands;
}

function withoutNulls(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withoutNulls);
    if (typeof value !== 'object' || value === null) return value;
    const kept = Object.entries(value).filter(([, field]) => field !== null);
    return Object.fromEntries(kept.map(([key, field]) => [key, withoutNulls(field)]));
}

/** JSON with sorted keys, so that equal values have equal texts. */
function canonical(value: unknown): string {
    return JSON.stringify(value, (_, field: unknown) => {
        const isObject = typeof field === 'object' && field !== null && !Array.isArray(field);
        return isObject ? Object.fromEntries(sorted(field as Record<string, unknown>)) : field;
    });
}
