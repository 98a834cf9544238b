// MCP Inspector's command line over stdio and Streamable HTTP: it lists the tools and calls echo.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { libraryFile, parse } from './arguments.mjs';
import { attempt, expect } from './steps.mjs';

const PROGRAM = '@modelcontextprotocol/inspector/clients/launcher/build/index.js';
// Each request starts the whole program anew, which takes its time on a busy machine.
const MILLISECONDS = 30_000;

const options = parse(['stdio', 'http'], ['legacy', 'modern']);
const target = options.transport === 'stdio'
  ? [options.command, '--stdio']
  : [options.url, '--transport', 'http'];
// The inspector keeps files in the home folder; it gets one of its own.
const home = await mkdtemp(join(tmpdir(), 'gantry-inspector-'));

/** Runs the inspector once and gives the result that it prints. */
async function inspect(...request) {
  const words = [
    libraryFile(PROGRAM), '--cli', ...target, '--protocol-era', options.era, '--format', 'json',
    '--stored-auth-only', ...request,
  ];
  const child = spawn(process.execPath, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: home },
    timeout: MILLISECONDS,
  });
  const closed = new Promise((resolve) => { child.on('close', resolve); });
  const [output, complaint, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  expect(code === 0, `the inspector ended with ${code}: ${complaint}`);
  return JSON.parse(output).result;
}

await attempt('list', async () => {
  const { tools } = await inspect('--method', 'tools/list');
  const names = tools.map(({ name }) => name);
  expect(names.includes('echo') && names.includes('add'), `the tools are ${names}`);
}, MILLISECONDS);

await attempt('call', async () => {
  const wanted = 'Grüße, 世界 🏗️';
  const { content } = await inspect(
    '--method', 'tools/call', '--tool-name', 'echo', '--tool-args-json', JSON.stringify({ text: wanted }),
  );
  const found = content[0].text;
  expect(found === wanted, `echo gave ${found}`);
}, MILLISECONDS);

await rm(home, { recursive: true });
