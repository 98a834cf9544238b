// The command line that every Node script of this folder takes, and where its
// libraries come from: the node_modules folder that GANTRY_MODULES names.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Loads a library from the folder that GANTRY_MODULES names. */
export function library(name) {
  return loader()(name);
}

/** The path of a library's file in that folder. */
export function libraryFile(path) {
  return join(modules(), path);
}

function loader() {
  return createRequire(join(modules(), 'anything.js'));
}

function modules() {
  const folder = process.env.GANTRY_MODULES;
  if (!folder) throw new Error('set GANTRY_MODULES to the node_modules folder of the client library');
  return folder;
}

/** Reads `--transport`, `--command` or `--url`, and `--era`. */
export function parse(transports, eras) {
  const { values } = parseArgs({
    options: {
      transport: { type: 'string' },
      command: { type: 'string' },
      url: { type: 'string' },
      era: { type: 'string', default: eras[0] },
    },
  });
  const address = values.transport === 'stdio' ? values.command : values.url;
  if (!transports.includes(values.transport) || !eras.includes(values.era) || !address) {
    throw new Error(
      `give --transport ${transports.join('|')}, --command for stdio or --url, --era ${eras.join('|')}`,
    );
  }
  return values;
}
