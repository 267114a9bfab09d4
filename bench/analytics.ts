// `npm run bench:analytics`: what Storage Analytics adds to the processor time of a request.
// Servers with different settings take turns of a fraction of a second, so that other work of the
// machine affects all of them alike. All processor time of a server is counted, also between its
// turns.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BlobData } from './blob-workloads.js';
import { defaultRows } from './dataset.js';
import { runBench } from './command.js';
import { changeText, machineLine, median, row, shortNumber } from './figures.js';
import { createQueues, fillBlobs, fillTable } from './fill.js';
import { signedRequest, type Target } from './http-request.js';
import {
  connectionsOf,
  isBlobKind,
  isQueueKind,
  isTableKind,
  serviceOf,
  type WorkloadKind,
  workloadKinds,
} from './kinds.js';
import { runLoad, runLoads, type Workload } from './load.js';
import { kindsOf, positive } from './options.js';
import { progress } from './progress.js';
import { titleOf } from './report.js';
import { comesToRest } from './rest.js';
import { startServer, stopServersAtEnd, type ServerProcess } from './server-process.js';
import { StorageSigner } from './storage-signer.js';
import { TableData } from './table-workloads.js';
import { makeWorkload, type LoadData } from './workloads.js';

const modes = ['off', 'hour metrics', 'all'] as const;
type Mode = (typeof modes)[number];

const connectionsAsked = 8;
const blobs = 2000;
/** The warm-up of the loads of both services, which is not counted. */
const warmupMs = 2000;

function toggled(name: string, on: boolean): string {
  const apis = on ? '<IncludeAPIs>true</IncludeAPIs>' : '';
  const retention = '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>';
  const version = '<Version>1.0</Version>';
  return `<${name}>${version}<Enabled>${on}</Enabled>${apis}${retention}</${name}>`;
}

/** The properties of a service with analytics as the mode says. */
function propertiesOf(mode: Mode): string {
  const logs = ['Delete', 'Read', 'Write'].map((each) => `<${each}>${mode === 'all'}</${each}>`);
  return (
    '<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>' +
    `<Logging><Version>1.0</Version>${logs.join('')}` +
    '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>' +
    toggled('HourMetrics', mode !== 'off') +
    toggled('MinuteMetrics', mode === 'all') +
    '</StorageServiceProperties>'
  );
}

function settingRequest(kind: WorkloadKind, target: Target, mode: Mode): Buffer {
  const service = serviceOf(kind);
  const body = propertiesOf(mode);
  if (service === 'table') {
    return signedRequest(target, 'properties', '/?restype=service&comp=properties', body);
  }
  const query = [['comp', 'properties'] as const, ['restype', 'service'] as const];
  return new StorageSigner(target, service).request({ method: 'PUT', path: '/', query, body });
}

/** A server with a mode, and its measurements. */
interface Contestant {
  readonly mode: Mode;
  readonly server: ServerProcess;
  readonly data: LoadData;
  readonly micros: number[];
}

async function started(kind: WorkloadKind, mode: Mode): Promise<Contestant> {
  const server = await startServer('tabularium', serviceOf(kind), {});
  const data = { table: new TableData(defaultRows), blobs: new BlobData(blobs) };
  const requests = [settingRequest(kind, server.target, mode)];
  const setting: Workload = {
    next: () => requests.pop(),
    status: 202,
    marker: 'anything',
    occurrences: 0,
  };
  await runLoad(server.target, setting, { connections: 1, warmupMs: 0, durationMs: Infinity });
  if (isTableKind(kind)) await fillTable(server, data.table, connectionsAsked);
  if (isQueueKind(kind)) await createQueues(server, [kind]);
  if (isBlobKind(kind)) await fillBlobs(server, [kind], { blobs, connections: connectionsAsked });
  return { mode, server, data, micros: [] };
}

/** How many requests are answered in a turn. */
async function turn(kind: WorkloadKind, { server, data }: Contestant, ms: number): Promise<number> {
  const measured = makeWorkload(kind, server.target, data);
  const connections = connectionsOf(kind, connectionsAsked);
  const options = { connections, warmupMs: 0, durationMs: ms };
  return (await runLoads(server.target, { measured }, options)).answered;
}

/**
 * One round: all servers take turns, and each gets a figure for all of its work during the round.
 */
async function round(
  kind: WorkloadKind,
  contestants: readonly Contestant[],
  { turns, turnMs }: { readonly turns: number; readonly turnMs: number },
): Promise<void> {
  const before = contestants.map(({ server }) => server.usage().cpuSeconds ?? Number.NaN);
  const answered = contestants.map(() => 0);
  for (let at = 0; at < turns * contestants.length; at += 1) {
    const index = at % contestants.length;
    const contestant = contestants[index];
    if (contestant === undefined) continue;
    answered[index] = (answered[index] ?? 0) + (await turn(kind, contestant, turnMs));
  }
  for (const [index, { server, micros }] of contestants.entries()) {
    await comesToRest(server, pause);
    const seconds = (server.usage().cpuSeconds ?? Number.NaN) - (before[index] ?? 0);
    micros.push((seconds * 1e6) / (answered[index] ?? 0));
  }
}

async function measure(kind: WorkloadKind, rounds: number, turns: number): Promise<string> {
  const contestants: Contestant[] = [];
  try {
    for (const mode of modes) contestants.push(await started(kind, mode));
    for (const each of contestants) await turn(kind, each, warmupMs);
    for (let at = 0; at < rounds; at += 1) {
      await round(kind, contestants, { turns, turnMs: 250 });
      progress(`${kind} round ${at + 1} of ${rounds}`);
    }
    const [off, ...others] = contestants.map(({ micros }) => micros);
    const cells = others.flatMap((micros) => {
      const ratios = micros.map((value, at) => value / (off?.[at] ?? Number.NaN));
      return [shortNumber(median(micros)), changeText(median(ratios))];
    });
    return row([titleOf(kind), shortNumber(median(off ?? [])), ...cells]);
  } finally {
    await Promise.all(contestants.map(({ server }) => server.stop()));
  }
}

const defaultKinds = 'point,insert,queue-put,blob-put,blob-get';

const usage = `npm run bench:analytics -- [options]

What Storage Analytics costs: servers without it, with hour metrics and with all, in turns.

  --kinds LIST   of ${workloadKinds.join(',')}
                 (default ${defaultKinds})
  --rounds N     (default 5)
  --turns N      of each server in a round (default 12)
`;

interface AnalyticsOptions {
  readonly kinds: readonly WorkloadKind[];
  readonly rounds: number;
  readonly turns: number;
}

function parseOptions(args: readonly string[]): AnalyticsOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kinds: { type: 'string', default: defaultKinds },
      rounds: { type: 'string', default: '5' },
      turns: { type: 'string', default: '12' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  return {
    kinds: kindsOf(values.kinds),
    rounds: positive('rounds', values.rounds),
    turns: positive('turns', values.turns),
  };
}

async function run({ kinds, rounds, turns }: AnalyticsOptions): Promise<void> {
  const head = ['CPU µs/req', 'off', 'hour metrics', 'of off', 'all', 'of off'];
  const lines = [row(head), row(['---', ...head.slice(1).map(() => '---:')])];
  for (const kind of kinds) lines.push(await measure(kind, rounds, turns));
  process.stdout.write(`${lines.join('\n')}\n\n${machineLine()}\n`);
}

stopServersAtEnd();

await runBench({ usage, parse: parseOptions, run });
