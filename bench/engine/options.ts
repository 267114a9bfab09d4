import { parseArgs } from 'node:util';
import { partitionRows } from '../dataset.js';
import { names, positive, rowsOf } from '../options.js';
import { engineKinds, engineNames, valueBytes, type EngineName, type EnginePlan } from './kinds.js';

const warmupMs = 500;

export interface EngineOptions extends EnginePlan {
  readonly engines: readonly EngineName[];
}

export const usage = `npm run bench:engine -- [options]

What engines do without HTTP, each in a process of its own: commits of rows of ${valueBytes} bytes to
scattered keys, single reads, ranges and scans.

  --rows N       rows before the clock starts, a multiple of ${partitionRows} (default 200000)
  --seconds N    of each measurement (default 4)
  --callers N    writers or readers at work at a time (default 32)
  --engines LIST of ${engineNames.join(',')}
                 (default: all)
  --kinds LIST   of ${engineKinds.join(',')} (default: all)
`;

/** The options, or `undefined` when the usage was asked for. Throws on what it does not know. */
export function parseOptions(args: readonly string[]): EngineOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '200000' },
      seconds: { type: 'string', default: '4' },
      callers: { type: 'string', default: '32' },
      engines: { type: 'string', default: engineNames.join(',') },
      kinds: { type: 'string', default: engineKinds.join(',') },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const kinds = names('kinds', values.kinds, engineKinds);
  const engines = names('engines', values.engines, engineNames);
  return {
    rows: rowsOf(values.rows),
    warmupMs,
    seconds: positive('seconds', values.seconds),
    callers: positive('callers', values.callers),
    engines: engineNames.filter((name) => engines.includes(name)),
    kinds: engineKinds.filter((kind) => kinds.includes(kind)),
  };
}
