// TypeScript `@modelcontextprotocol/client` 2.x over stdio and Streamable HTTP, in either era.

import { library, parse } from './arguments.mjs';
import { Notices, Refused, ROOT, expect, play } from './steps.mjs';

const {
  Client, LOG_LEVEL_META_KEY, ProtocolError, StreamableHTTPClientTransport,
} = library('@modelcontextprotocol/client');
const { StdioClientTransport } = library('@modelcontextprotocol/client/stdio');

const ERAS = {
  legacy: { mode: 'legacy', revision: '2025-11-25', lacks: [] },
  modern: { mode: 'auto', revision: '2026-07-28', lacks: ['ping'] },
};

/** The common script's view of a `Client`. */
class Peer {
  notices = new Notices();
  meta = undefined;

  constructor(era) {
    this.era = era;
    this.lacks = ERAS[era].lacks;
    this.client = new Client(
      { name: 'gantry-script', version: '1.0.0' },
      {
        capabilities: { sampling: {}, elicitation: {}, roots: {} },
        versionNegotiation: { mode: ERAS[era].mode },
      },
    );
    this.client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant', model: 'none', content: { type: 'text', text: 'a kind of crane' },
    }));
    this.client.setRequestHandler('elicitation/create', () => this.elicitation);
    this.client.setRequestHandler('roots/list', () => ({ roots: [{ uri: ROOT }] }));
    const notify = (method, words) =>
      this.client.setNotificationHandler(method, ({ params }) => this.notices.push(words(params)));
    notify('notifications/resources/updated', ({ uri }) => `updated ${uri}`);
    notify('notifications/tools/list_changed', () => 'tools changed');
    notify('notifications/message', () => 'log');
    // The library forgets a call's progress callback once it has read the result, even if
    // notices that came in the same chunk still wait; so this listens to the notice itself.
    this.client.setNotificationHandler('notifications/progress', ({ params }) => this.onProgress?.(params.progress));
  }

  async connect(transport) {
    await this.client.connect(transport);
    const found = this.client.getNegotiatedProtocolVersion();
    const { revision } = ERAS[this.era];
    expect(found === revision, `the client settled on ${found}, not ${revision}`);
  }

  tools = async () => (await this.client.listTools()).tools.map(({ name }) => name);
  resources = async () => (await this.client.listResources()).resources.map(({ uri }) => uri);
  templates = async () =>
    (await this.client.listResourceTemplates()).resourceTemplates.map((item) => item.uriTemplate);
  prompts = async () => (await this.client.listPrompts()).prompts.map(({ name }) => name);

  async call(name, values, onProgress, signal) {
    this.onProgress = onProgress;
    const options = { signal, onprogress: onProgress };
    const params = { name, arguments: values, _meta: this.meta };
    const result = await this.client.callTool(params, options).catch((problem) => {
      if (problem instanceof ProtocolError) throw new Refused(problem.code, problem.message);
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
    if (this.era === 'legacy') {
      await this.client.subscribeResource({ uri });
      return () => this.client.unsubscribeResource({ uri });
    }
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const subscription = await this.client.listen(filter);
    return () => subscription.close();
  }

  async setLevel(level) {
    if (this.era === 'legacy') await this.client.setLoggingLevel(level);
    else this.meta = { [LOG_LEVEL_META_KEY]: level };
  }

  ping = () => this.client.ping();
  close = () => this.client.close();
}

const options = parse(['stdio', 'http'], Object.keys(ERAS));
const peer = new Peer(options.era);
await play(peer, () => peer.connect(
  options.transport === 'stdio'
    ? new StdioClientTransport({ command: options.command, args: ['--stdio'] })
    : new StreamableHTTPClientTransport(new URL(options.url)),
));
