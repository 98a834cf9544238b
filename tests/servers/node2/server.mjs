// The fixtures on the TypeScript SDK 2.x, both eras: stdio, Streamable HTTP and HTTP+SSE.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { fixtures, listen, readArguments, sdk } from '../node/start.mjs';
import { makeTools } from './tools.mjs';

const { Server, ProtocolError, createMcpHandler, isLegacyRequest } = await sdk('server');
const { serveStdio } = await sdk('server/stdio');
const { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } = await sdk('node');

const MODERN = '2026-07-28';
const INVALID_PARAMS = -32602;
const RESOURCE_NOT_FOUND = -32002;
const wanted = readArguments();
const state = { cancelled: 0, grown: false };
// Servers that keep a connection; over HTTP clients without handshake listen to the handler.
const servers = new Set();
let handler;

const tools = makeTools(state, {
  touched: () => {
    handler?.notify.resourceUpdated('peer://note');
    return tell(server => server.watches && server.sendResourceUpdated({ uri: 'peer://note' }));
  },
  grown: () => {
    handler?.notify.toolsChanged();
    return tell(server => server.sendToolListChanged());
  },
});

async function tell(notify) {
  await Promise.allSettled([...servers].map(notify));
}

function makeServer({ era }) {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true },
    prompts: {},
    completions: {},
    logging: {},
  };
  const versions = wanted.revision && wanted.revision < MODERN ? [wanted.revision, MODERN] : undefined;
  const options = { capabilities, ...(versions && { supportedProtocolVersions: versions }) };
  const server = new Server({ name: 'node2', version: '1.0.0' }, options);
  // A connection of the newest revision watches by listening; the library filters what it says.
  server.watches = era === 'modern';
  server.setRequestHandler('tools/list', () => ({
    tools: state.grown ? [...fixtures.tools, fixtures.grown] : fixtures.tools,
  }));
  server.setRequestHandler('tools/call', (request, context) => callTool(request.params, context));
  server.setRequestHandler('resources/list', () => ({ resources: fixtures.resources }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: fixtures.templates }));
  server.setRequestHandler('resources/read', request => read(request.params.uri, era));
  server.setRequestHandler('resources/subscribe', () => ((server.watches = true), {}));
  server.setRequestHandler('resources/unsubscribe', () => ((server.watches = false), {}));
  server.setRequestHandler('prompts/list', () => ({ prompts: fixtures.prompts }));
  server.setRequestHandler('prompts/get', request => {
    const text = `Hello, ${request.params.arguments?.name}.`;
    return { messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  server.setRequestHandler('completion/complete', request => {
    const values = fixtures.names.filter(name => name.startsWith(request.params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  if (era === 'legacy' || wanted.transport === 'stdio') {
    servers.add(server);
    server.onclose = () => servers.delete(server);
  }
  return server;
}

function read(uri, era) {
  const item = uri.match(/^peer:\/\/item\/(.*)$/)?.[1];
  const text = uri === 'peer://note' ? fixtures.note : item && `item ${item}`;
  if (text === undefined) {
    const code = era === 'modern' ? INVALID_PARAMS : RESOURCE_NOT_FOUND;
    throw new ProtocolError(code, 'no such resource', { uri });
  }
  return { contents: [{ uri, mimeType: 'text/plain', text }] };
}

function callTool(params, context) {
  const tool = tools[params.name];
  if (!tool) throw new ProtocolError(INVALID_PARAMS, `unknown tool ${params.name}`);
  return tool({ context, given: params.arguments ?? {} });
}

// Requests with a handshake go to a session, all others to the handler.
function serveHttp() {
  handler = createMcpHandler(makeServer, { legacy: 'reject' });
  const modern = toNodeHandler(handler);
  const sessions = new Map();
  return createServer(async (request, response) => {
    const body = request.method === 'POST' ? await readJson(request) : undefined;
    const probe = await toWebRequest(request, body);
    if (!(await isLegacyRequest(probe, body))) return modern(request, response, body);
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (!transport && id) return response.writeHead(404).end();
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: session => sessions.set(session, transport),
        onsessionclosed: session => sessions.delete(session),
      });
      await makeServer({ era: 'legacy' }).connect(transport);
    }
    await transport.handleRequest(request, response, body);
  });
}

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function serveSse() {
  const { SSEServerTransport } = await sdk('server-legacy/sse');
  const sessions = new Map();
  return createServer(async (request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/message', response);
      sessions.set(transport.sessionId, transport);
      response.on('close', () => sessions.delete(transport.sessionId));
      return makeServer({ era: 'legacy' }).connect(transport);
    }
    const transport = sessions.get(url.searchParams.get('sessionId'));
    if (request.method !== 'POST' || !transport) return response.writeHead(405).end();
    return transport.handlePostMessage(request, response);
  });
}

if (wanted.transport === 'stdio') {
  serveStdio(makeServer);
} else {
  listen(wanted.transport === 'http' ? serveHttp() : await serveSse(), wanted.port);
}
