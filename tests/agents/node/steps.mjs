// What every script does: list the tools as a model would get them, and call one of each kind.
//
//     SCRIPT http URL TOKEN
//     SCRIPT stdio COMMAND ARGUMENT...

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
// A tool of a folder, of a server that is a program, and of a server on the web. Libraries may put
// something before the name.
const TOOLS = { script: 'text_note', stdio: 'legacy_note', http: 'web_note' };

export const [transport, address, ...words] = process.argv.slice(2);
export const isHttp = transport === 'http';
export const headers = isHttp ? { Authorization: `Bearer ${words[0]}` } : {};

/** Loads a module out of a `node_modules` folder, by default that of the library. */
export async function load(name, folder = process.env.GANTRY_MODULES) {
  const require = createRequire(join(folder, 'here.js'));
  try {
    return await import(pathToFileURL(require.resolve(name)));
  } catch {
    // A module without a form for `require`.
    const found = JSON.parse(readFileSync(join(folder, name, 'package.json'))).exports['.'];
    return import(pathToFileURL(join(folder, name, found.import ?? found.default)));
  }
}

let failed = false;

function tell(step, problem) {
  failed ||= problem !== undefined;
  console.log(problem === undefined ? `ok ${step}` : `FAIL ${step} ${problem}`);
}

/** Plays with the names and `await call(name, arguments)`, then ends the program. */
export async function play(names, call) {
  const find = tool => names.find(name => name.endsWith(tool));
  const problems = [
    ...names.filter(name => !NAME.test(name)).map(name => `\`${name}\` is no name for a model`),
    ...Object.values(TOOLS).filter(tool => !find(tool)).map(tool => `there is no ${tool} in ${names}`),
  ];
  tell('list', problems.length > 0 ? problems.join('; ') : undefined);
  for (const [step, tool] of Object.entries(TOOLS)) {
    const name = find(tool);
    if (!name) continue;
    try {
      const result = JSON.stringify(await call(name, { text: 'hello' }));
      tell(step, result.includes('hello') ? undefined : `the result is ${result}`);
    } catch (error) {
      console.error(error);
      tell(step, String(error).replace(/\s+/g, ' '));
    }
  }
}

/** Runs the script; what it throws is a failure of the connection. */
export async function run(script) {
  try {
    await script();
  } catch (error) {
    console.error(error);
    tell('connect', String(error).replace(/\s+/g, ' '));
  }
  process.exit(failed ? 1 : 0);
}
