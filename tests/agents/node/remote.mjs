// mcp-remote: a program on standard input and output in front of the gateway, for clients that know
// nothing else; here the TypeScript SDK 1.x.

import { join } from 'node:path';
import { address, load, play, run, words } from './steps.mjs';

const SDK = process.env.GANTRY_SDK;

await run(async () => {
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js', SDK);
  const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js', SDK);
  const client = new Client({ name: 'client', version: '1.0.0' });
  const program = join(process.env.GANTRY_MODULES, 'mcp-remote/dist/proxy.js');
  const args = [program, address, '--allow-http', '--header', `Authorization: Bearer ${words[0]}`];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  const { tools } = await client.listTools();
  await play(tools.map(({ name }) => name), (name, given) => client.callTool({ name, arguments: given }));
  await client.close();
});
