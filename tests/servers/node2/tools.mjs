// The tools. One that asks returns its questions and is called again with the answers, in either
// era; answers of earlier rounds travel in the request state.

import { fixtures } from '../node/start.mjs';

const text = (said, more = {}) => ({ content: [{ type: 'text', text: said }], ...more });

const form = name => ({ method: 'elicitation/create', params: { mode: 'form', ...fixtures.forms[name] } });
const { elicitationId: _, ...url } = fixtures.url;
const page = { method: 'elicitation/create', params: { mode: 'url', ...url } };
const sample = (more = {}) => ({ method: 'sampling/createMessage', params: { ...fixtures.sample, ...more } });
const roots = { method: 'roots/list' };

const filled = answer => `${answer.action} ${answer.content?.name ?? 'nobody'}`;
const said = answer => [answer.content].flat()[0].text;
const uris = answer => answer.roots.map(root => root.uri).join(',');

// Runs `finish` with the answers to all rounds, or asks the first round that lacks some.
function asking(rounds, finish) {
  return ({ context }) => answer(context, rounds, finish);
}

function answer(context, rounds, finish) {
  const state = context.mcpReq.requestState();
  const known = { ...(state && JSON.parse(state)), ...context.mcpReq.inputResponses };
  for (const questions of rounds) {
    const missing = Object.entries(questions).filter(([key]) => !(key in known));
    if (missing.length > 0) {
      const inputRequests = Object.fromEntries(missing);
      return { resultType: 'input_required', inputRequests, requestState: JSON.stringify(known) };
    }
  }
  return text(finish(known));
}

// Asks one way with a form, and another without.
function either(withForm, without) {
  return call => (call.given.form === false ? without : withForm)(call);
}

async function report({ mcpReq }, progress) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress, total: 3, message: `step ${progress}` };
  await mcpReq.notify({ method: 'notifications/progress', params });
}

export function makeTools(state, changes) {
  return {
    echo: ({ given }) => text(JSON.stringify(given), { structuredContent: given, _meta: fixtures.meta }),
    add: ({ given }) => {
      const total = { sum: given.a + given.b };
      return text(JSON.stringify(total), { structuredContent: total });
    },
    progress: async ({ context }) => {
      for (const step of [1, 2, 3]) await report(context, step);
      return text('done');
    },
    logs: async ({ context }) => {
      await context.mcpReq.log('info', 'one', 'peer');
      await context.mcpReq.log('warning', 'two', 'peer');
      return text('logged');
    },
    slow: ({ context }) =>
      new Promise((_, reject) => {
        context.mcpReq.signal.addEventListener('abort', () => {
          state.cancelled += 1;
          reject(new Error('cancelled'));
        });
        // Who waits for this knows that the call can be cancelled now.
        report(context, 1);
      }),
    cancelled: () => text(String(state.cancelled)),
    ask_form: asking([{ name: form('name') }], known => filled(known.name)),
    ask_url: asking([{ page }], known => known.page.action),
    ask_model: asking([{ model: sample() }], known => said(known.model)),
    ask_model_tools: asking([{ model: sample({ tools: fixtures.sampleTools }) }], known => {
      const used = [known.model.content].flat().find(block => block.type === 'tool_use');
      return `${used.name} ${used.input.city}`;
    }),
    ask_roots: asking([{ roots }], known => uris(known.roots)),
    ask_many: either(
      asking([{ name: form('name'), model: sample(), roots }], known =>
        [filled(known.name), said(known.model), uris(known.roots)].join('|'),
      ),
      asking([{ model: sample(), roots }], known => [said(known.model), uris(known.roots)].join('|')),
    ),
    ask_rounds: either(
      asking(
        [{ name: form('name') }, { colour: form('colour') }],
        known => `${known.name.content.name} likes ${known.colour.content.colour}`,
      ),
      asking([{ model: sample() }, { roots }], known => `${said(known.model)} then ${uris(known.roots)}`),
    ),
    fail: () => text('it broke', { isError: true }),
    touch: async () => {
      await changes.touched();
      return text('touched');
    },
    grow: async () => {
      state.grown = !state.grown;
      await changes.grown();
      return text('grew');
    },
    grown: () => text('new'),
  };
}
