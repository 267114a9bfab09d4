import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { workloadKinds, type WorkloadKind } from '../kinds.js';
import { kindsOf, positive } from '../options.js';

export interface CompareOptions {
  /** Folder of the other build's compiled benchmark. */
  readonly otherBench: string;
  readonly kinds: readonly WorkloadKind[];
  /** How often both builds are started and filled anew. */
  readonly starts: number;
  /** Rounds a start. */
  readonly rounds: number;
  /** Measured seconds per kind, build and round. */
  readonly seconds: number;
  readonly connections: number;
}

export const usage = `npm run bench:compare -- DIRECTORY [options]

Processor time per request of this build beside that of another one, whose repository is in
DIRECTORY and compiled. Both run at once and take turns in short rounds, so that what else the
machine does meets both.

  --kinds LIST      as npm run bench has them (default: tables,queue-put,queue-get-delete)
  --starts N        how often both are started anew: compiled code differs a little each time
                    (default 3)
  --rounds N        rounds a start (default 6)
  --seconds N       measured seconds per kind, build and round (default 1.5)
  --connections N   keep-alive connections, a closed loop on each (default 32)
`;

/** The options, or `undefined` when the usage was asked for. Throws on what it does not know. */
export function parseOptions(args: readonly string[]): CompareOptions | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      kinds: { type: 'string', default: 'tables,queue-put,queue-get-delete' },
      starts: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '6' },
      seconds: { type: 'string', default: '1.5' },
      connections: { type: 'string', default: '32' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const [directory] = positionals;
  if (directory === undefined || positionals.length > 1) {
    throw new Error('One directory with another build is needed; see --help.');
  }
  const otherBench = join(resolve(directory), 'dist', 'bench');
  if (!existsSync(otherBench)) {
    throw new Error(`${otherBench} is missing: run npm ci and npm run build in ${directory}.`);
  }
  return {
    otherBench,
    kinds: kindsOf(values.kinds).filter((kind) => workloadKinds.includes(kind)),
    starts: positive('starts', values.starts),
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    connections: positive('connections', values.connections),
  };
}
