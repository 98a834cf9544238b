// The model: aimock for the Messages, chat completions and Gemini forms, and a scripted server for
// the Responses form. It does what a prompt says that contains `CALL NAME KEY=VALUE…`: it calls that
// tool, then tells its result. With `REPEAT` in the place of `CALL` it calls the tool again, after a
// pause and at most twice, while the result says that the same call may be repeated once it is
// approved. Every request becomes a line of the journal.
//
//     model.mjs JOURNAL

import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { makeResponses } from './responses.mjs';

const find = createRequire(join(process.env.GANTRY_MODULES, 'here.js'));
const { LLMock } = await import(pathToFileURL(find.resolve('@copilotkit/aimock')));
const [journal] = process.argv.slice(2);

const PAUSE = 2000;
const REPEATS = 2;

const textOf = content => (typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('\n'));
// Agents change the name of a server's tool: they put the server before it and replace signs.
const plain = name => name.replace(/[^a-zA-Z0-9]+/g, '_');

/** What the conversation is about: the tool to call, its arguments, and the results since. */
function readOrder(messages) {
  const orders = messages.map(({ role, content }) =>
    role === 'user' && textOf(content).match(/(CALL|REPEAT) ([\w.]+)((?: \w+=\w+)*)/));
  const at = orders.findLastIndex(Boolean);
  if (at < 0) return undefined;
  const [, verb, wanted, pairs] = orders[at];
  const given = Object.fromEntries(pairs.split(' ').filter(Boolean).map(pair => pair.split('=')));
  const results = messages.slice(at).filter(({ role }) => role === 'tool').map(({ content }) => textOf(content));
  return { verb, wanted, given, results };
}

/** What the model does: `{call: {name, arguments}}` or `{text}`. */
function decide(order, tools) {
  if (!order) return { text: 'ok' };
  const { verb, wanted, given, results } = order;
  const last = results.at(-1);
  const again = verb === 'REPEAT' && results.length <= REPEATS && last?.includes('repeat the same call');
  if (last !== undefined && !again) {
    return { text: `RESULT ${last}` };
  }
  const name = tools.find(name => plain(name).endsWith(plain(wanted)));
  return name ? { call: { name, arguments: JSON.stringify(given) } } : { text: `NO TOOL ${wanted}` };
}

async function respond(form, messages, tools) {
  const order = readOrder(messages);
  const answer = decide(order, tools);
  const { wanted, results } = order ?? {};
  appendFileSync(journal, `${JSON.stringify({ at: Date.now(), form, wanted, tools, results, answer })}\n`);
  if (answer.call && results.length > 0) await sleep(PAUSE);
  return answer;
}

const mock = new LLMock({ port: 0, host: '127.0.0.1' });
mock.on({ endpoint: 'chat', predicate: () => true }, async ({ messages, tools }) => {
  const answer = await respond('aimock', messages, (tools ?? []).map(tool => tool.function.name));
  return answer.call ? { toolCalls: [answer.call] } : { content: answer.text };
});
mock.mount('/responses', makeResponses((messages, tools) => respond('responses', messages, tools)));
const url = await mock.start();
console.error(`listening ${new URL(url).port}`);
