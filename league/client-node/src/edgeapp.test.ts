// The plan and the status against the fixtures that the operator in Rust writes, and what those do not cover.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import * as edgeapp from './edgeapp.js';

const FIXTURES = new URL('../../fixtures/', import.meta.url);

interface Fixture {
    owner: { namespace: string; name: string; generation: number; observedGeneration: number; spec: edgeapp.Spec };
    deployment: Omit<edgeapp.Progress, 'exists'> | null;
    failure: { reason: string; message: string } | null;
    plan: { deployment: unknown; service: unknown; status: unknown };
}

function app(spec: edgeapp.Spec, status?: edgeapp.Status): edgeapp.EdgeApp {
    const metadata = { namespace: 'shop', name: 'web', uid: 'u-1', generation: 7, resourceVersion: '9' };
    return { metadata, spec, ...(status ? { status } : {}) };
}

/** Without the two labels that every child has, which the fixtures leave to the runtime. */
function withoutIdentity(body: edgeapp.Body | undefined): unknown {
    if (!body) return null;
    const { metadata, ...rest } = body as { metadata: { labels: Record<string, unknown> } };
    const { [edgeapp.OWNER_LABEL]: owner, [edgeapp.MANAGED_BY_LABEL]: manager, ...labels } = metadata.labels;
    assert.deepEqual([owner, manager], ['web', edgeapp.MANAGER]);
    return Object.keys(labels).length ? { ...rest, metadata: { labels } } : rest;
}

const files = readdirSync(FIXTURES).filter((file) => file.startsWith('plan-'));
assert.notEqual(files.length, 0, 'no fixtures');
for (const file of files) {
    test(`the plan is that of Tare: ${file}`, () => {
        const { owner, deployment, failure, plan } = JSON.parse(readFileSync(new URL(file, FIXTURES), 'utf8')) as Fixture;
        const { generation, observedGeneration, name, namespace, spec } = owner;
        assert.deepEqual([namespace, name, generation], ['shop', 'web', 7]);
        const owned = app(spec, { replicas: 0, readyReplicas: 0, observedGeneration });
        const progress = deployment ? { ...deployment, exists: true } : edgeapp.NO_PROGRESS;
        const status = failure
            ? edgeapp.degraded(owned, progress, failure.reason, failure.message)
            : edgeapp.observed(owned, progress);
        assert.deepEqual(withoutIdentity(edgeapp.deploymentBody(owned)), plan.deployment);
        assert.deepEqual(withoutIdentity(edgeapp.serviceBody(owned)), plan.service);
        assert.deepEqual(status, plan.status);
    });
}

const FULL: edgeapp.Spec = {
    image: 'web:1',
    replicas: 2,
    port: 8080,
    headless: true,
    env: [{ name: 'A', value: '' }],
    resources: { requests: { cpu: 1 }, limits: { memory: '1024Mi', cpu: '0.07' } },
};

/** A Deployment as an API server keeps it: defaults, a status, and what others add. */
function storedDeployment(): any {
    const object = structuredClone(edgeapp.newChild(app(FULL), 'Deployment', edgeapp.deploymentBody(app(FULL)))) as any;
    Object.assign(object.metadata, { uid: 'u-2', generation: 1, annotations: { theirs: '1' } });
    object.metadata.labels.theirs = '1';
    object.spec.progressDeadlineSeconds = 600;
    const [container] = object.spec.template.spec.containers;
    container.imagePullPolicy = 'IfNotPresent';
    container.env = [{ name: 'A' }];
    container.resources.limits = { cpu: '70m', memory: '1Gi' };
    object.status = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 1 };
    return object;
}

const planned = edgeapp.deploymentChild(edgeapp.newChild(app(FULL), 'Deployment', edgeapp.deploymentBody(app(FULL)))).digest;

test('what the server fills in and others add is no difference', () => {
    const child = edgeapp.deploymentChild(storedDeployment());
    assert.equal(child.digest, planned);
    assert.deepEqual(child.controller, { kind: 'EdgeApp', name: 'web', uid: 'u-1' });
    assert.equal(child.progress.readyReplicas, 1);
});

const edits: [string, (object: any) => void][] = [
    ['a label', (object) => (object.metadata.labels[edgeapp.OWNER_LABEL] = 'other')],
    ['replicas', (object) => (object.spec.replicas = 3)],
    ['image', (object) => (object.spec.template.spec.containers[0].image = 'web:2')],
    ['a variable', (object) => (object.spec.template.spec.containers[0].env[0].value = '1')],
    ['a variable more', (object) => object.spec.template.spec.containers[0].env.push({ name: 'B', value: '' })],
    ['a limit', (object) => (object.spec.template.spec.containers[0].resources.limits.memory = '2Gi')],
    ['a container more', (object) => object.spec.template.spec.containers.push({ name: 'theirs' })],
    ['no port', (object) => delete object.spec.template.spec.containers[0].ports],
];
for (const [name, edit] of edits) {
    test(`a planned field that differs is a difference: ${name}`, () => {
        const object = storedDeployment();
        edit(object);
        assert.notEqual(edgeapp.deploymentChild(object).digest, planned);
    });
}

test('a Service is headless or has an address of the server', () => {
    const object = edgeapp.newChild(app(FULL), 'Service', edgeapp.serviceBody(app(FULL)) ?? {}) as any;
    const headless = edgeapp.serviceChild(object);
    object.spec.clusterIP = '10.0.0.7';
    const other = edgeapp.serviceChild(object);
    assert.deepEqual([headless.headless, other.headless], [true, false]);
    assert.notEqual(headless.digest, other.digest);
});

test('a transition time moves only with its status', () => {
    const at = (second: number) => new Date(second * 1000);
    const times = (status?: edgeapp.Status) => status?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime);
    const waiting = edgeapp.stamped(edgeapp.observed(app(FULL), edgeapp.NO_PROGRESS), undefined, at(1));
    assert.deepEqual(times(waiting), Array(3).fill('1970-01-01T00:00:01Z'));
    assert.equal(edgeapp.stamped(edgeapp.observed(app(FULL), edgeapp.NO_PROGRESS), waiting, at(2)), undefined);
    const done = { ...edgeapp.NO_PROGRESS, exists: true, replicas: 2, updatedReplicas: 2, readyReplicas: 2 };
    const running = edgeapp.stamped(edgeapp.observed(app(FULL), done), waiting, at(3));
    assert.deepEqual(times(running), ['1970-01-01T00:00:03Z', '1970-01-01T00:00:03Z', '1970-01-01T00:00:01Z']);
});
