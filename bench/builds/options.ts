import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isUnderWrites, type WorkloadKind } from '../kinds.js';
import { kindsOf, positive } from '../options.js';

export interface BuildsOptions {
  /** Folders of the other builds. */
  readonly repositories: readonly string[];
  readonly kinds: readonly WorkloadKind[];
  /** How often all builds are started and filled anew. */
  readonly starts: number;
  /** Measured stretches a start, of each build. */
  readonly stretches: number;
  readonly connections: number;
  /** `durable`: behind a journal, as a server runs by default. */
  readonly durability: 'durable' | 'relaxed';
}

const defaultKinds = 'point,range,scan,insert,batch,queue-put,queue-get-delete';

export const usage = `npm run bench:builds -- DIRECTORY... [options]

Processor time per request of this build beside that of others, whose repositories are in the
directories and compiled. Each runs in a process that is server and client. They take turns in
stretches of some milliseconds, so that what else the machine does meets all of them; differences
are to the first directory.

  --kinds LIST      as npm run bench has them (default:
                    ${defaultKinds})
  --starts N        how often all are started anew: compiled code differs a little each time
                    (default 3)
  --stretches N     measured stretches a start (default 150)
  --connections N   keep-alive connections, a closed loop on each (default 8)
  --journal         wait for the disk, behind a journal; without it neither is there, and a stretch
                    has no waiting in it
`;

/** The options, or `undefined` when the usage was asked for. Throws on what it does not know. */
export function parseOptions(args: readonly string[]): BuildsOptions | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      kinds: { type: 'string', default: defaultKinds },
      starts: { type: 'string', default: '3' },
      stretches: { type: 'string', default: '150' },
      connections: { type: 'string', default: '8' },
      journal: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if (positionals.length === 0)
    throw new Error('A directory with another build is needed; see --help.');
  return {
    repositories: positionals.map(compiled),
    kinds: singleLoads(kindsOf(values.kinds)),
    starts: positive('starts', values.starts),
    stretches: positive('stretches', values.stretches),
    connections: positive('connections', values.connections),
    durability: values.journal ? 'durable' : 'relaxed',
  };
}

/**
 * Kinds with two loads at once are excluded, because their processor time cannot be divided between
 * the loads.
 */
function singleLoads(kinds: readonly WorkloadKind[]): readonly WorkloadKind[] {
  const pair = kinds.find(isUnderWrites);
  if (pair === undefined) return kinds;
  throw new Error(`${pair} is two loads at once: ask for the others with --kinds.`);
}

function compiled(directory: string): string {
  const repository = resolve(directory);
  if (!existsSync(join(repository, 'dist', 'src', 'app', 'index.js'))) {
    throw new Error(`${repository} is not compiled: run npm ci and npm run build in it.`);
  }
  return repository;
}
