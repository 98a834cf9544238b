// A scripted server of the Responses form, for agents whose tools aimock does not pass on: tools come
// in namespaces, and calls name both.

import { text as readText } from 'node:stream/consumers';

const SEPARATOR = '/';
let calls = 0;

/** A handler for aimock that answers with what `respond(messages, tools)` decides. */
export function makeResponses(respond) {
  return {
    async handleRequest(request, response, path) {
      if (request.method !== 'POST' || !path.endsWith('/responses')) return false;
      const body = JSON.parse(await readText(request));
      const answer = await respond(body.input.map(messageOf).filter(Boolean), namesOf(body.tools ?? []));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of eventsOf(answer)) {
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      response.end();
      return true;
    },
  };
}

function namesOf(tools) {
  return tools.flatMap(tool =>
    tool.type === 'namespace' ? tool.tools.map(({ name }) => tool.name + SEPARATOR + name) : [tool.name ?? tool.type]);
}

function messageOf(item) {
  if (item.type === 'message') return { role: item.role, content: item.content };
  if (item.type !== 'function_call_output') return undefined;
  const { output } = item;
  return { role: 'tool', content: typeof output === 'string' ? output : (output.content ?? output) };
}

function eventsOf(answer) {
  const id = 'resp_1';
  const item = answer.call ? callOf(answer.call) : {
    type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: answer.text }],
  };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return [
    { type: 'response.created', response: { id } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id, output: [item], usage } },
  ];
}

function callOf({ name, arguments: given }) {
  const [tool, namespace] = name.split(SEPARATOR).reverse();
  calls += 1;
  return {
    type: 'function_call',
    id: `fc_${calls}`,
    call_id: `call_${calls}`,
    name: tool,
    arguments: given,
    ...(namespace && { namespace }),
  };
}
