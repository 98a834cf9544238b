// The common script: what every client asks of the `everything` server.
//
// Each peer (a thin layer over one client library) offers the same few methods, so
// the steps are written once; `python/steps.py` and `rmcp/steps.rs` mirror this file.

const STEP_MILLISECONDS = 10_000;
export const ROOT = 'file:///workspace/gantry';
const WATCHED = 'test://watched-resource';
const INVALID_PARAMS = -32602;

const TOOLS = [
  'echo', 'add', 'test_tool_with_progress', 'test_error_handling', 'test_elicitation',
  'test_sampling', 'test_roots', 'test_slow', 'test_slow_status',
  'test_trigger_resource_update', 'test_trigger_tool_change',
];
const RESOURCES = ['test://static-text', 'test://static-binary', WATCHED];
const TEMPLATES = ['test://template/{id}/data'];
const PROMPTS = ['test_simple_prompt', 'test_prompt_with_arguments'];

/** The server answered with a JSON-RPC error. */
export class Refused extends Error {
  constructor(code, message) {
    super(`${code} ${message}`);
    this.code = code;
  }
}

/** Fails the step, saying why, unless the condition holds. */
export function expect(condition, reason) {
  if (!condition) throw new Error(reason);
}

/** Fails the step if a wanted name is missing. */
export function expectNames(kind, wanted, found) {
  const missing = wanted.filter((name) => !found.includes(name));
  expect(missing.length === 0, `${kind} lack ${missing}`);
}

/** The steps to play: another script if GANTRY_SCRIPT names one. */
async function chosen() {
  return process.env.GANTRY_SCRIPT === 'peers' ? (await import('./peers.mjs')).steps : steps;
}

const steps = {
  async list(peer) {
    expectNames('tools', TOOLS, await peer.tools());
    expectNames('resources', RESOURCES, await peer.resources());
    expectNames('templates', TEMPLATES, await peer.templates());
    expectNames('prompts', PROMPTS, await peer.prompts());
  },

  async call(peer) {
    const text = 'Grüße, 世界 🏗️';
    const outcome = await peer.call('echo', { text });
    expect(outcome.text === text, `echo gave ${outcome.text}`);
  },

  async structured(peer) {
    const { structured } = await peer.call('add', { a: 2, b: 40.5 });
    expect(structured?.sum === 42.5, `add gave ${JSON.stringify(structured)}`);
  },

  async progress(peer) {
    const seen = [];
    await peer.call('test_tool_with_progress', {}, (progress) => seen.push(progress));
    const rising = seen.every((value, index) => index === 0 || value > seen[index - 1]);
    expect(seen.length === 3 && rising, `progress was ${seen}`);
  },

  async error(peer) {
    const failed = await peer.call('test_error_handling', {});
    expect(failed.failed, 'test_error_handling did not set isError');
    const refused = await peer.call('no_such_tool', {}).catch((problem) => problem);
    expect(refused instanceof Refused, `an unknown tool gave ${refused.text ?? refused}`);
    expect(refused.code === INVALID_PARAMS, `an unknown tool gave ${refused.message}`);
  },

  async validation(peer) {
    const outcome = await peer.call('add', { a: 1, b: 'two' }).catch((problem) => {
      if (problem instanceof Refused) return { failed: true, text: problem.message };
      throw problem;
    });
    expect(outcome.failed, 'a wrong type was accepted');
    expect(/\bb\b/.test(outcome.text), `the argument b is not named in ${outcome.text}`);
  },

  async resource(peer) {
    let text = await peer.read('test://static-text');
    expect(text === 'This is the content of the static text resource.', `static text is ${text}`);
    text = await peer.read('test://template/42/data');
    expect(text.includes('Data for ID: 42'), `the template gave ${text}`);
  },

  async subscribe(peer) {
    const unwatch = await peer.watch(WATCHED);
    await peer.call('test_trigger_resource_update', {});
    await peer.notices.until((notice) => notice === `updated ${WATCHED}`);
    await unwatch();
  },

  async prompt(peer) {
    const text = await peer.prompt('test_prompt_with_arguments', { arg1: 'hello', arg2: 'wörld' });
    expect(text === "Prompt with arguments: arg1='hello', arg2='wörld'", `the prompt is ${text}`);
  },

  async completion(peer) {
    const values = await peer.complete('test_prompt_with_arguments', 'arg1', 'par');
    expect(values.join() === 'paris,park,party', `the values are ${values}`);
  },

  async elicitation(peer) {
    const content = { username: 'ada', email: 'ada@example.com' };
    peer.elicitation = { action: 'accept', content };
    let { text } = await peer.call('test_elicitation', { message: 'Who are you?' });
    expect(text.includes('accept') && text.includes(content.email), `accepted: ${text}`);
    peer.elicitation = { action: 'decline' };
    ({ text } = await peer.call('test_elicitation', { message: 'Who are you?' }));
    expect(text.includes('decline'), `declined: ${text}`);
  },

  async sampling(peer) {
    const { text } = await peer.call('test_sampling', { prompt: 'What is a gantry?' });
    expect(text.includes('a kind of crane'), `test_sampling gave ${text}`);
  },

  async roots(peer) {
    const { text } = await peer.call('test_roots', {});
    expect(text === ROOT, `test_roots gave ${text}`);
  },

  async logging(peer) {
    // The two eras opt in to log messages in different ways: a session sets its
    // level once, a stateless client says it with each request.
    const tool = peer.era === 'legacy' ? 'test_tool_with_logging' : 'test_logging_tool';
    await peer.setLevel('debug');
    await peer.call(tool, {});
    await peer.notices.until((notice) => notice === 'log');
  },

  async cancel(peer) {
    const cancelled = async () => (await peer.call('test_slow_status', {})).structured.cancelled;
    const before = await cancelled();
    await peer.callThenCancel('test_slow', { seconds: 30 });
    // The status call is the wait: each round trip lets the server go on.
    const end = Date.now() + STEP_MILLISECONDS;
    while ((await cancelled()) <= before) {
      expect(Date.now() < end, 'the server did not notice the cancellation');
    }
  },

  async list_changed(peer) {
    const unwatch = await peer.watch(WATCHED);
    await peer.call('test_trigger_tool_change', {});
    await peer.notices.until((notice) => notice === 'tools changed');
    await unwatch();
  },

  async ping(peer) {
    await peer.ping();
  },
};

/** Notices in the order they came, and a way to wait for one of them. */
export class Notices {
  #waiting = [];
  #wake = () => {};

  push(notice) {
    this.#waiting.push(notice);
    this.#wake();
  }

  async until(wanted) {
    for (;;) {
      while (this.#waiting.length > 0) if (wanted(this.#waiting.shift())) return;
      await new Promise((resolve) => { this.#wake = resolve; });
    }
  }
}

/** Settles as the promise does, or fails when its time is over. */
async function timely(promise, milliseconds) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('nothing came in time')), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs one step within its time and prints how it went. */
export async function attempt(name, run, milliseconds = STEP_MILLISECONDS) {
  try {
    await timely(run(), milliseconds);
  } catch (problem) {
    console.log(`FAIL ${name} ${String(problem?.message ?? problem).replace(/\s+/g, ' ').trim()}`);
    process.exitCode = 1;
    return false;
  }
  console.log(`ok ${name}`);
  return true;
}

/** Connects, tries every step the peer has, closes, and ends the process with the verdict. */
export async function play(peer, connect) {
  if (await attempt('connect', connect)) {
    for (const [name, step] of Object.entries(await chosen())) {
      if (!peer.lacks.includes(name)) await attempt(name, () => step(peer));
    }
    await attempt('close', () => peer.close());
  }
  // A connection that a failed step left open must not keep the process.
  process.exit();
}
