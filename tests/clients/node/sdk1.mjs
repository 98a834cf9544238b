// TypeScript `@modelcontextprotocol/sdk` 1.x over stdio and Streamable HTTP.

import { library, parse } from './arguments.mjs';
import { Notices, Refused, ROOT, play } from './steps.mjs';

const { Client } = library('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = library('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = library('@modelcontextprotocol/sdk/client/streamableHttp.js');
const types = library('@modelcontextprotocol/sdk/types.js');

/** The common script's view of a `Client`. */
class Peer {
  era = 'legacy';
  lacks = [];
  notices = new Notices();
  client = new Client(
    { name: 'gantry-script', version: '1.0.0' },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );

  constructor() {
    this.client.setRequestHandler(types.CreateMessageRequestSchema, () => ({
      role: 'assistant', model: 'none', content: { type: 'text', text: 'a kind of crane' },
    }));
    this.client.setRequestHandler(types.ElicitRequestSchema, () => this.elicitation);
    this.client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: ROOT }] }));
    const notify = (schema, words) =>
      this.client.setNotificationHandler(schema, ({ params }) => this.notices.push(words(params)));
    notify(types.ResourceUpdatedNotificationSchema, ({ uri }) => `updated ${uri}`);
    notify(types.ToolListChangedNotificationSchema, () => 'tools changed');
    notify(types.LoggingMessageNotificationSchema, () => 'log');
    // The library forgets a call's progress callback once it has read the result, even if
    // notices that came in the same chunk still wait; so this listens to the notice itself.
    this.client.setNotificationHandler(types.ProgressNotificationSchema, ({ params }) => this.onProgress?.(params.progress));
  }

  async pages(method, member) {
    const items = [];
    let cursor;
    do {
      const page = await this.client[method]({ cursor });
      items.push(...page[member]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
  }

  tools = async () => (await this.pages('listTools', 'tools')).map(({ name }) => name);
  resources = async () => (await this.pages('listResources', 'resources')).map(({ uri }) => uri);
  templates = async () =>
    (await this.pages('listResourceTemplates', 'resourceTemplates')).map((item) => item.uriTemplate);
  prompts = async () => (await this.pages('listPrompts', 'prompts')).map(({ name }) => name);

  async call(name, values, onProgress, signal) {
    this.onProgress = onProgress;
    const options = { signal, onprogress: onProgress };
    const result = await this.client.callTool({ name, arguments: values }, undefined, options)
      .catch((problem) => {
        if (problem instanceof types.McpError) throw new Refused(problem.code, problem.message);
        throw problem;
      });
    const text = result.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
    return { text, structured: result.structuredContent, failed: result.isError === true };
  }

  async callThenCancel(name, values) {
    const controller = new AbortController();
    await this.call(name, values, () => controller.abort('enough'), controller.signal).catch(() => {});
  }

  read = async (uri) => (await this.client.readResource({ uri })).contents[0].text;

  prompt = async (name, values) =>
    (await this.client.getPrompt({ name, arguments: values })).messages[0].content.text;

  async complete(name, argument, value) {
    const ref = { type: 'ref/prompt', name };
    return (await this.client.complete({ ref, argument: { name: argument, value } })).completion.values;
  }

  async watch(uri) {
    await this.client.subscribeResource({ uri });
    return () => this.client.unsubscribeResource({ uri });
  }

  setLevel = (level) => this.client.setLoggingLevel(level);
  ping = () => this.client.ping();
  close = () => this.client.close();
}

const options = parse(['stdio', 'http'], ['legacy']);
const peer = new Peer();
await play(peer, () => peer.client.connect(
  options.transport === 'stdio'
    ? new StdioClientTransport({ command: options.command, args: ['--stdio'] })
    : new StreamableHTTPClientTransport(new URL(options.url)),
));
