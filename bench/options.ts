import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { BaselineUse } from './baseline/guard.js';
import { defaultBlobs, defaultRows, partitionRows } from './dataset.js';
import {
  blobKinds,
  queueKinds,
  queueOperations,
  tableKinds,
  workloadKinds,
  type WorkloadKind,
} from './kinds.js';
import { serverNames, type ServerName } from './server-process.js';

export interface BenchOptions {
  /** Measured seconds per kind, server and round. */
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  /** Connections that insert rows meanwhile, in kinds that say so. */
  readonly writers: number;
  /** Rows of the table before the clock starts. */
  readonly rows: number;
  /** Blobs of the container that is read and listed, before the clock starts. */
  readonly blobs: number;
  readonly kinds: readonly WorkloadKind[];
  readonly servers: readonly ServerName[];
  readonly jsonFile: string | undefined;
  /** Where flame graphs go; none are made when absent. */
  readonly flameDirectory: string | undefined;
  readonly baselineUse: BaselineUse | undefined;
  readonly baselineFile: string;
}

const defaultBaseline = fileURLToPath(new URL('../../bench/baseline.json', import.meta.url));

const kindGroups = { tables: tableKinds, queues: queueKinds, blobs: blobKinds } as const;

export const usage = `npm run bench -- [options]

  --seconds N       measured seconds per kind, server and round (default 4)
  --rounds N        rounds; the servers take turns in each (default 3)
  --connections N   keep-alive connections, a closed loop on each (default 32)
  --writers N       connections that insert meanwhile, in point-under-writes (default 32)
  --rows N          rows of the table before the clock starts, a multiple of ${partitionRows}
                    (default ${defaultRows})
  --blobs N         blobs before the clock starts (default ${defaultBlobs}); Azurite
                    and the bare server have no more than ${defaultBlobs}
  --kinds LIST      tables, queues and blobs (the default) or single kinds:
                    ${tableKinds.join(',')},
                    ${queueOperations.map((operation) => `queue-${operation}`).join(',')},
                    ${blobKinds.join(',')};
                    the queue kinds also with -100k or -1m behind them: so many messages wait
  --servers LIST    of ${serverNames.join(',')}
                    (default: bare,azurite,tabularium)
  --json FILE       write all numbers there
  --compare         compare the ratios to bare and Azurite with those of the baseline; exit code 1
                    when a request takes more than 20 % more than there, 2 when it cannot be told
  --write-baseline  put the ratios of this run into the baseline
  --baseline FILE   (default bench/baseline.json)
  --flame DIR       profile Tabularium in the last round of each kind: write a flame graph (.svg) and
                    the profiles (.cpuprofile) there and print the functions with the most time;
                    alone with Tabularium unless --servers says otherwise
`;

export function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} wants a number above 0, not '${text}'.`);
  return value;
}

function serversOf(text: string, isProfiled: boolean): readonly ServerName[] {
  const servers = names('servers', text, serverNames);
  if (!isProfiled || !servers.includes('tabularium-workers')) return servers;
  throw new Error('--flame looks into one process: leave out tabularium-workers, which has three.');
}

function baselineUse(compares: boolean, writes: boolean): BaselineUse | undefined {
  if (compares && writes) throw new Error('--compare and --write-baseline exclude each other.');
  if (compares) return 'compare';
  return writes ? 'write' : undefined;
}

export function rowsOf(text: string): number {
  const rows = positive('rows', text);
  if (rows % partitionRows === 0) return rows;
  throw new Error(
    `--rows wants a multiple of ${partitionRows}, the rows of a partition, not '${text}'.`,
  );
}

/** The names in a comma-separated list; throws on one that is not known. */
export function names<T extends string>(
  option: string,
  text: string,
  known: readonly T[],
): readonly T[] {
  return text.split(',').map((name) => {
    const found = known.find((candidate) => candidate === name);
    if (found === undefined) {
      throw new Error(`--${option} does not know '${name}'; it knows ${known.join(', ')}.`);
    }
    return found;
  });
}

/** Names of kinds and of groups of kinds, in the order in which they are measured. */
export function kindsOf(text: string): readonly WorkloadKind[] {
  const groups = Object.keys(kindGroups) as (keyof typeof kindGroups)[];
  const group = (name: string) => groups.find((each) => each === name);
  const asked = new Set<string>(
    names('kinds', text, [...groups, ...workloadKinds]).flatMap((name): readonly string[] => {
      const found = group(name);
      return found === undefined ? [name] : kindGroups[found];
    }),
  );
  return workloadKinds.filter((kind) => asked.has(kind));
}

/** The options, or `undefined` when the usage was asked for. Throws on what it does not know. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '32' },
      writers: { type: 'string', default: '32' },
      rows: { type: 'string', default: String(defaultRows) },
      blobs: { type: 'string', default: String(defaultBlobs) },
      kinds: { type: 'string', default: Object.keys(kindGroups).join(',') },
      servers: { type: 'string' },
      json: { type: 'string' },
      flame: { type: 'string' },
      compare: { type: 'boolean', default: false },
      'write-baseline': { type: 'boolean', default: false },
      baseline: { type: 'string', default: defaultBaseline },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.flame !== undefined && (values.compare || values['write-baseline'])) {
    throw new Error('A server that is profiled takes more time: use --flame without a baseline.');
  }
  const defaultServers = values.flame === undefined ? 'bare,azurite,tabularium' : 'tabularium';
  return {
    seconds: positive('seconds', values.seconds),
    rounds: positive('rounds', values.rounds),
    connections: positive('connections', values.connections),
    writers: positive('writers', values.writers),
    rows: rowsOf(values.rows),
    blobs: positive('blobs', values.blobs),
    kinds: kindsOf(values.kinds),
    servers: serversOf(values.servers ?? defaultServers, values.flame !== undefined),
    jsonFile: values.json,
    flameDirectory: values.flame === undefined ? undefined : resolve(values.flame),
    baselineUse: baselineUse(values.compare, values['write-baseline']),
    baselineFile: resolve(values.baseline),
  };
}
