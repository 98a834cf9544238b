// @ai-sdk/mcp: the tool set of the AI SDK, with a client of its own.

import { address, headers, isHttp, load, play, run, words } from './steps.mjs';

await run(async () => {
  const { createMCPClient } = await load('@ai-sdk/mcp');
  const { StdioMCPTransport, Experimental_StdioMCPTransport } = await load('@ai-sdk/mcp/mcp-stdio');
  const Stdio = StdioMCPTransport ?? Experimental_StdioMCPTransport;
  const transport = isHttp ? { type: 'http', url: address, headers } : new Stdio({ command: address, args: words });
  const client = await createMCPClient({ transport });
  const tools = await client.tools();
  await play(Object.keys(tools), (name, given) => tools[name].execute(given, { toolCallId: '1', messages: [] }));
  await client.close();
});
