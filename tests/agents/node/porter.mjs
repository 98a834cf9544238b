// mcporter: its runtime, as its command line uses it.

import { address, headers, isHttp, load, play, run, words } from './steps.mjs';

await run(async () => {
  const { createRuntime } = await load('mcporter');
  const command = isHttp
    ? { kind: 'http', url: new URL(address), headers }
    : { kind: 'stdio', command: address, args: words, cwd: process.cwd() };
  const runtime = await createRuntime({ servers: [{ name: 'gantry', command }] });
  const tools = await runtime.listTools('gantry');
  await play(tools.map(({ name }) => name), (name, args) => runtime.callTool('gantry', name, { args }));
  await runtime.close();
});
