// The fixtures on the TypeScript SDK 1.x: stdio, Streamable HTTP and HTTP+SSE.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { fixtures, listen, readArguments, sdk } from '../node/start.mjs';

const types = await sdk('sdk/types.js');
const { Server } = await sdk('sdk/server/index.js');
const { StdioServerTransport } = await sdk('sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = await sdk('sdk/server/streamableHttp.js');
const { SSEServerTransport } = await sdk('sdk/server/sse.js');

const RESOURCE_NOT_FOUND = -32002;
const wanted = readArguments();
const state = { cancelled: 0, grown: false };
// Every client has a server of its own; changes are told to all of them.
const servers = new Set();

function makeServer() {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true },
    prompts: {},
    completions: {},
    logging: {},
  };
  const server = new Server({ name: 'node1', version: '1.0.0' }, { capabilities });
  server.watches = false;
  const on = (schema, handler) => server.setRequestHandler(schema, handler);
  if (wanted.revision) {
    on(types.InitializeRequestSchema, async request => {
      const answer = await server._oninitialize(request);
      return { ...answer, protocolVersion: wanted.revision };
    });
  }
  on(types.ListToolsRequestSchema, () => ({
    tools: state.grown ? [...fixtures.tools, fixtures.grown] : fixtures.tools,
  }));
  on(types.CallToolRequestSchema, (request, extra) => callTool(server, request.params, extra));
  on(types.ListResourcesRequestSchema, () => ({ resources: fixtures.resources }));
  on(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: fixtures.templates }));
  on(types.ReadResourceRequestSchema, request => read(request.params.uri));
  on(types.SubscribeRequestSchema, () => ((server.watches = true), {}));
  on(types.UnsubscribeRequestSchema, () => ((server.watches = false), {}));
  on(types.ListPromptsRequestSchema, () => ({ prompts: fixtures.prompts }));
  on(types.GetPromptRequestSchema, request => {
    const text = `Hello, ${request.params.arguments?.name}.`;
    return { messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  on(types.CompleteRequestSchema, request => {
    const values = fixtures.names.filter(name => name.startsWith(request.params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  servers.add(server);
  server.onclose = () => servers.delete(server);
  return server;
}

function read(uri) {
  const text = uri === 'peer://note' ? fixtures.note : uri.match(/^peer:\/\/item\/(.*)$/)?.[1];
  if (text === undefined) {
    throw new types.McpError(RESOURCE_NOT_FOUND, 'no such resource', { uri });
  }
  const said = uri === 'peer://note' ? text : `item ${text}`;
  return { contents: [{ uri, mimeType: 'text/plain', text: said }] };
}

async function callTool(server, params, extra) {
  const tool = tools[params.name];
  if (!tool) throw new types.McpError(-32602, `unknown tool ${params.name}`);
  return tool({ server, extra, given: params.arguments ?? {} });
}

const text = (said, more = {}) => ({ content: [{ type: 'text', text: said }], ...more });

// A question goes out on the stream of the call that asks it.
const askForm = ({ server, extra }, form) =>
  server.elicitInput(fixtures.forms[form], { relatedRequestId: extra.requestId });
const askModel = ({ server, extra }, more = {}) =>
  server.createMessage({ ...fixtures.sample, ...more }, { relatedRequestId: extra.requestId });
const askRoots = async ({ server, extra }) => {
  const answer = await server.listRoots({}, { relatedRequestId: extra.requestId });
  return answer.roots.map(root => root.uri).join(',');
};
const filled = answer => `${answer.action} ${answer.content?.name ?? 'nobody'}`;

async function report({ _meta, sendNotification }, progress) {
  if (_meta?.progressToken === undefined) return;
  const params = { progressToken: _meta.progressToken, progress, total: 3, message: `step ${progress}` };
  await sendNotification({ method: 'notifications/progress', params });
}

async function tell(notify) {
  await Promise.allSettled([...servers].map(notify));
}

const tools = {
  echo: ({ given }) => text(JSON.stringify(given), { structuredContent: given, _meta: fixtures.meta }),
  add: ({ given }) => {
    const total = { sum: given.a + given.b };
    return text(JSON.stringify(total), { structuredContent: total });
  },
  progress: async ({ extra }) => {
    for (const step of [1, 2, 3]) await report(extra, step);
    return text('done');
  },
  logs: async ({ extra }) => {
    for (const [level, data] of [['info', 'one'], ['warning', 'two']]) {
      const params = { level, logger: 'peer', data };
      await extra.sendNotification({ method: 'notifications/message', params });
    }
    return text('logged');
  },
  slow: ({ extra }) =>
    new Promise((_, reject) => {
      extra.signal.addEventListener('abort', () => {
        state.cancelled += 1;
        reject(new Error('cancelled'));
      });
      // Who waits for this knows that the call can be cancelled now.
      report(extra, 1);
    }),
  cancelled: () => text(String(state.cancelled)),
  ask_form: async call => text(filled(await askForm(call, 'name'))),
  ask_url: async ({ server, extra }) => {
    const question = { mode: 'url', ...fixtures.url };
    const answer = await server.elicitInput(question, { relatedRequestId: extra.requestId });
    return text(answer.action);
  },
  ask_model: async call => text((await askModel(call)).content.text),
  ask_model_tools: async call => {
    const answer = await askModel(call, { tools: fixtures.sampleTools });
    const used = [answer.content].flat().find(block => block.type === 'tool_use');
    return text(`${used.name} ${used.input.city}`);
  },
  ask_roots: async call => text(await askRoots(call)),
  ask_many: async call => {
    const forms = call.given.form === false ? [] : [askForm(call, 'name').then(filled)];
    const model = askModel(call).then(answer => answer.content.text);
    return text((await Promise.all([...forms, model, askRoots(call)])).join('|'));
  },
  ask_rounds: async call => {
    if (call.given.form === false) {
      const said = (await askModel(call)).content.text;
      return text(`${said} then ${await askRoots(call)}`);
    }
    const { name } = (await askForm(call, 'name')).content;
    const { colour } = (await askForm(call, 'colour')).content;
    return text(`${name} likes ${colour}`);
  },
  fail: () => text('it broke', { isError: true }),
  touch: async () => {
    await tell(server => server.watches && server.sendResourceUpdated({ uri: 'peer://note' }));
    return text('touched');
  },
  grow: async () => {
    state.grown = !state.grown;
    await tell(server => server.sendToolListChanged());
    return text('grew');
  },
  grown: () => text('new'),
};

function serveHttp() {
  const sessions = new Map();
  return createServer(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (!transport && id) return response.writeHead(404).end();
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: session => sessions.set(session, transport),
        onsessionclosed: session => sessions.delete(session),
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
}

function serveSse() {
  const sessions = new Map();
  return createServer(async (request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/message', response);
      sessions.set(transport.sessionId, transport);
      response.on('close', () => sessions.delete(transport.sessionId));
      return makeServer().connect(transport);
    }
    const transport = sessions.get(url.searchParams.get('sessionId'));
    if (request.method !== 'POST' || !transport) return response.writeHead(405).end();
    return transport.handlePostMessage(request, response);
  });
}

if (wanted.transport === 'stdio') {
  await makeServer().connect(new StdioServerTransport());
} else {
  listen(wanted.transport === 'http' ? serveHttp() : serveSse(), wanted.port);
}
