import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { tableOperations, type TableOperation } from '../kinds.js';
import { names, positive, rowsOf } from '../options.js';

export const usage = `npm run bench:sizes -- [options]

The speed of servers whose tables differ in size, in turns, and how soon each starts again when it
was killed under inserts.

  --rows LIST        of the table of each server, each a multiple of 1000 (default 40000,1000000)
  --kinds LIST       of ${tableOperations.join(',')} (default: all)
  --seconds N        of each measurement (default 4)
  --rounds N         the servers take turns in each (default 3)
  --connections N    (default 32)
  --directory DIR    where the data are; a table of a million rows or more stays there and is used
                     again (default: a temporary one)
  --cold             instead, the first seconds of servers that are started when nothing of their
                     data files is in the cache of the system; reads alone
`;

export interface SizesOptions {
  readonly rows: readonly number[];
  readonly kinds: readonly TableOperation[];
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly directory: string | undefined;
  readonly isCold: boolean;
}

/** The options, or `undefined` when the usage was asked for. Throws on what it does not know. */
export function parseOptions(args: readonly string[]): SizesOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '40000,1000000' },
      kinds: { type: 'string', default: tableOperations.join(',') },
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '32' },
      directory: { type: 'string' },
      cold: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const asked = names('kinds', values.kinds, tableOperations);
  return {
    rows: values.rows.split(',').map(rowsOf),
    kinds: tableOperations.filter((kind) => asked.includes(kind)),
    seconds: positive('seconds', values.seconds),
    rounds: positive('rounds', values.rounds),
    connections: positive('connections', values.connections),
    directory: values.directory === undefined ? undefined : resolve(values.directory),
    isCold: values.cold,
  };
}
