// A server with three tools: a plain one, one that asks the user, one
// that is destructive. Each run of a tool becomes a line of the journal, which is how runs are counted.
//
//     server.mjs legacy|modern|web JOURNAL [SECONDS]
//
// `legacy` is the TypeScript SDK 1.x and knows no revision without handshake; `modern` and `web` are
// the SDK 2.x and refuse the handshake. `web` listens, the others use standard input and output. It
// answers nothing before SECONDS have passed.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [era, journal, seconds = '0'] = process.argv.slice(2);
const find = createRequire(join(process.env.GANTRY_MODULES, 'here.js'));
const load = name => import(pathToFileURL(find.resolve(name)));

const object = (properties, required) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const plain = { readOnlyHint: false, destructiveHint: false };
const TOOLS = [
  { name: 'note', description: 'Notes a text.', inputSchema: object({ text: string }, ['text']), annotations: plain },
  { name: 'ask', description: 'Asks the user for a name.', inputSchema: object({}, []), annotations: plain },
  { name: 'wipe', description: 'Wipes a disk.', inputSchema: object({ disk: string }, ['disk']), annotations: { destructiveHint: true } },
];
const QUESTION = {
  message: 'Who are you?',
  requestedSchema: object({ name: string }, ['name']),
};
const text = (said, more = {}) => ({ content: [{ type: 'text', text: said }], ...more });

/** The answer of a tool; `elicit` asks the user. What goes wrong is a result, as high-level servers have it. */
async function call({ name, arguments: given = {} }, elicit) {
  appendFileSync(journal, `${JSON.stringify({ at: Date.now(), server: era, tool: name, given })}\n`);
  if (name === 'note') return text(`noted ${given.text}`);
  if (name === 'wipe') return text(`wiped ${given.disk}`);
  try {
    const { action, content } = await elicit();
    return text(`the user said ${action} ${content?.name ?? ''}`.trim());
  } catch (problem) {
    return text(`the user could not be asked: ${problem.message}`, { isError: true });
  }
}

async function legacy() {
  const { Server } = await load('@modelcontextprotocol/sdk/server/index.js');
  const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
  const types = await load('@modelcontextprotocol/sdk/types.js');
  const server = new Server({ name: 'legacy', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: TOOLS }));
  server.setRequestHandler(types.CallToolRequestSchema, ({ params }, { requestId }) =>
    call(params, () => server.elicitInput(QUESTION, { relatedRequestId: requestId })));
  await server.connect(new StdioServerTransport());
}

async function makeModern() {
  const { Server } = await load('@modelcontextprotocol/server');
  return () => {
    const server = new Server({ name: era, version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools: TOOLS.filter(({ name }) => name !== 'ask') }));
    server.setRequestHandler('tools/call', ({ params }) => call(params));
    return server;
  };
}

async function modern() {
  const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
  serveStdio(await makeModern(), { legacy: 'reject' });
}

async function web() {
  const { createMcpHandler } = await load('@modelcontextprotocol/server');
  const { toNodeHandler } = await load('@modelcontextprotocol/node');
  const handler = toNodeHandler(createMcpHandler(await makeModern(), { legacy: 'reject' }));
  const server = createServer((request, response) => handler(request, response));
  server.listen(0, '127.0.0.1', () => console.error(`listening ${server.address().port}`));
}

// The pipe keeps what is said meanwhile.
setTimeout({ legacy, modern, web }[era], Number(seconds) * 1000);
