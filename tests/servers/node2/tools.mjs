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
  return ({ context }) => {
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
  };
}

export function makeTools(state, changes) {
  return {
    echo: ({ given }) => text(JSON.stringify(given), { structuredContent: given, _meta: fixtures.meta }),
    add: ({ given }) => {
      const total = { sum: given.a + given.b };
      return text(JSON.stringify(total), { structuredContent: total });
    },
    progress: async ({ context }) => {
      const progressToken = context.mcpReq._meta?.progressToken;
      for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
        const params = { progressToken, progress, total: 3, message: `step ${progress}` };
        await context.mcpReq.notify({ method: 'notifications/progress', params });
      }
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
    ask_many: asking([{ name: form('name'), model: sample(), roots }], known =>
      [filled(known.name), said(known.model), uris(known.roots)].join('|'),
    ),
    ask_rounds: asking(
      [{ name: form('name') }, { colour: form('colour') }],
      known => `${known.name.content.name} likes ${known.colour.content.colour}`,
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
