// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// An MCP server on the official SDK for TypeScript, version 2: 2026-07-28 and what came before it. It listens on 127.0.0.1
// at PORT for Streamable HTTP or, with the argument stdio, speaks on its standard streams. Its tools make it do what a
// client has to notice.
//
// The packages are those of test/e2e, so that there is one list of them.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../e2e/package.json', import.meta.url));
const { McpServer, ResourceTemplate, completable, createMcpHandler } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { localhostHostValidation, toNodeHandler } = require('@modelcontextprotocol/node');
const { z } = require('zod');

const cities = ['Berlin', 'Bern', 'Oslo'];
const text = value => ({ content: [{ type: 'text', text: value }] });
const read = uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `${uri.href} after ${touched}` }] });

// What outlives a request: over HTTP a server object is made for each.
let grown = false;
let touched = 0;
let waiting = 0;
let aborted = 0;

function tools(server) {
    server.registerTool('echo', { description: 'Repeats a text.', inputSchema: z.object({ text: z.string() }) }, args =>
        text(`echo: ${args.text}`)
    );
    server.registerTool('progress', { description: 'Reports progress three times.' }, async ctx => {
        const { progressToken } = ctx.mcpReq._meta ?? {};
        for (let progress = 1; progressToken !== undefined && progress <= 3; progress++) {
            const params = { progressToken, progress, total: 3, message: `step ${progress}` };
            await ctx.mcpReq.notify({ method: 'notifications/progress', params });
        }
        return text('progressed');
    });
    server.registerTool('log', { description: 'Logs at three levels.' }, async ctx => {
        for (const level of ['debug', 'info', 'error']) {
            await ctx.mcpReq.log(level, { said: `at ${level}` }, 'modern');
        }
        return text('logged');
    });
    server.registerTool('grow', { description: 'Offers more from now on: a tool, a resource and a prompt.' }, () => {
        grown = true;
        way.changed(server);
        return text('grown');
    });
    server.registerTool('touch', { description: 'Changes a resource.', inputSchema: z.object({ uri: z.string() }) }, async args => {
        touched++;
        await way.updated(server, args.uri);
        return text(`touched ${touched}`);
    });
    server.registerTool('wait', { description: 'Waits until it is cancelled.' }, async ctx => {
        const { signal } = ctx.mcpReq;
        waiting++;
        await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
        aborted++;
        return text('cancelled');
    });
    server.registerTool('waits', { description: 'Says how many calls of wait began, and how many were cancelled.' }, () =>
        text(`${waiting} began, ${aborted} were cancelled`)
    );
}

function resources(server) {
    server.registerResource('note', 'modern://note', { mimeType: 'text/plain' }, read);
    server.registerResource(
        'city',
        new ResourceTemplate('modern://city/{name}', {
            list: undefined,
            complete: { name: value => cities.filter(city => city.startsWith(value)) }
        }),
        { mimeType: 'text/plain' },
        read
    );
}

function prompts(server) {
    const city = completable(z.string().describe('A city'), value => cities.filter(name => name.startsWith(value)));
    server.registerPrompt('visit', { description: 'Plans a visit.', argsSchema: z.object({ city }) }, args => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Plan a visit to ${args.city}.` } }]
    }));
}

// What is there once grow was called.
function more(server) {
    server.registerTool('grown', { description: 'Is offered once grow was called.' }, () => text('grown up'));
    server.registerResource('grown', 'modern://grown', { mimeType: 'text/plain' }, read);
    server.registerPrompt('grown', { description: 'Is offered once grow was called.' }, () => ({
        messages: [{ role: 'user', content: { type: 'text', text: 'Grow.' } }]
    }));
}

// Before 2026-07-28 subscriptions are requests, which the SDK leaves to the server.
function subscriptions(server) {
    const subscribed = new Set();
    server.server.setRequestHandler('resources/subscribe', request => {
        subscribed.add(request.params.uri);
        return {};
    });
    server.server.setRequestHandler('resources/unsubscribe', request => {
        subscribed.delete(request.params.uri);
        return {};
    });
    return uri => subscribed.has(uri);
}

function serve({ era }) {
    const server = new McpServer(
        { name: 'modern', version: '1.0.0' },
        {
            instructions: 'Call echo first.',
            capabilities: {
                tools: { listChanged: true },
                resources: { listChanged: true, subscribe: true },
                prompts: { listChanged: true },
                logging: {}
            }
        }
    );
    tools(server);
    resources(server);
    prompts(server);
    if (grown) {
        more(server);
    }
    way.begin?.(server, era);
    return server;
}

function overHTTP() {
    const handler = createMcpHandler(serve, { onerror: error => console.error(error) });
    const answer = toNodeHandler(handler);
    const validHost = localhostHostValidation();
    createServer((req, res) => {
        if (validHost(req, res)) {
            void answer(req, res);
        }
    }).listen(Number(process.env.PORT), '127.0.0.1');
    return {
        changed: () => {
            handler.notify.toolsChanged();
            handler.notify.resourcesChanged();
            handler.notify.promptsChanged();
        },
        updated: (_, uri) => handler.notify.resourceUpdated(uri)
    };
}

// One server object serves the whole connection.
function overStdio() {
    let wanted = () => true; // 2026-07-28: the SDK knows
    serveStdio(serve, { onerror: error => console.error(error) });
    return {
        begin: (server, era) => {
            if (era === 'legacy') {
                wanted = subscriptions(server);
            }
        },
        changed: more, // it says itself what is new
        updated: async (server, uri) => {
            if (wanted(uri)) {
                await server.server.sendResourceUpdated({ uri });
            }
        }
    };
}

const way = process.argv[2] === 'stdio' ? overStdio() : overHTTP();
