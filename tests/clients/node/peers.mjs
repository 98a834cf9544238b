// The short script: what every client asks of each server in `tests/servers`.
// `python/peers.py` and `rmcp/peers.rs` mirror this file.

import { expect, expectNames } from './steps.mjs';

export const steps = {
  async list(peer) {
    expectNames('tools', ['add', 'ask_model', 'echo', 'progress'], await peer.tools());
    expectNames('resources', ['peer://note'], await peer.resources());
    expectNames('prompts', ['greet'], await peer.prompts());
  },

  async call(peer) {
    const { text } = await peer.call('add', { a: 40, b: 2 });
    expect(text.includes('42'), `add gave ${text}`);
  },

  async progress(peer) {
    const seen = [];
    await peer.call('progress', {}, (progress) => seen.push(progress));
    expect(seen.join() === '1,2,3', `progress was ${seen}`);
  },

  async question(peer) {
    const { text } = await peer.call('ask_model', {});
    expect(text === 'a kind of crane', `ask_model gave ${text}`);
  },
};
