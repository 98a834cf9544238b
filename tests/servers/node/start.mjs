// What both Node peers share: the fixtures, the arguments, the library and the port.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

export const fixtures = JSON.parse(readFileSync(new URL('../fixtures.json', import.meta.url)));

// Loads a module of the SDK out of the folder that GANTRY_MODULES names.
export function sdk(name) {
  const folder = process.env.GANTRY_MODULES;
  if (!folder) throw new Error('GANTRY_MODULES must name a `node_modules` folder');
  const find = createRequire(join(folder, 'here.js'));
  // What is found for `require` is the CommonJS build; its sibling is loaded the same way.
  return import(pathToFileURL(find.resolve(`@modelcontextprotocol/${name}`)));
}

export function readArguments() {
  const { values } = parseArgs({
    options: {
      transport: { type: 'string', default: 'stdio' },
      port: { type: 'string', default: '0' },
      revision: { type: 'string' },
    },
  });
  return { ...values, port: Number(values.port) };
}

export function listen(server, port) {
  server.listen(port, '127.0.0.1', () => console.error(`listening ${server.address().port}`));
}
