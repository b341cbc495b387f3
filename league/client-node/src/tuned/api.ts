// Requests of plain JSON over connections that are kept, in place of the generated APIs and their models.
//
// Guarantees: credentials are those of the library's KubeConfig, asked for before each request. Rejects with an ApiError where
// the API server refuses. Leaves watches to the library.

import { Agent, request as send, type RequestOptions } from 'node:https';

import type { KubeConfig } from '@kubernetes/client-node';

import { MANAGER } from '../edgeapp.js';
import { ApiError } from '../reconcile.js';

const TIMEOUT_MS = 30_000;

export class Api {
    readonly #config: KubeConfig;
    /** The library makes one for each request (kubernetes-client/javascript#2893): each request is a TLS handshake. */
    readonly #agent = new Agent({ keepAlive: true });

    constructor(config: KubeConfig) {
        this.#config = config;
    }

    read(path: string): Promise<unknown> {
        return this.#request('GET', path);
    }

    create(path: string, object: unknown): Promise<unknown> {
        return this.#request('POST', `${path}?fieldManager=${MANAGER}`, 'application/json', object);
    }

    patch(path: string, patch: unknown): Promise<unknown> {
        return this.#request('PATCH', `${path}?fieldManager=${MANAGER}`, 'application/merge-patch+json', patch);
    }

    remove(path: string, uid: string): Promise<unknown> {
        return this.#request('DELETE', path, 'application/json', { preconditions: { uid } });
    }

    async #request(method: string, path: string, type?: string, content?: unknown): Promise<unknown> {
        const options: RequestOptions = { headers: { accept: 'application/json' } };
        await this.#config.applyToHTTPSOptions(options);
        const headers = { ...options.headers, ...(type ? { 'content-type': type } : {}) };
        const url = new URL(`${this.#config.getCurrentCluster()?.server}${path}`);
        const [code, text] = await exchange(url, { ...options, method, headers, agent: this.#agent }, content);
        if (code >= 300) throw new ApiError(code, text);
        return JSON.parse(text);
    }
}

function exchange(url: URL, options: RequestOptions, content: unknown): Promise<[number, string]> {
    return new Promise((resolve, reject) => {
        const request = send(url, { ...options, timeout: TIMEOUT_MS }, (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('end', () => resolve([response.statusCode ?? 0, Buffer.concat(chunks).toString()]));
            response.on('error', reject);
        });
        request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
        request.on('error', reject);
        request.end(content === undefined ? undefined : JSON.stringify(content));
    });
}
