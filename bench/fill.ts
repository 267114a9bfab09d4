import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { tableName } from './dataset.js';
import { blobCreation, blobLoading } from './blob-workloads.js';
import {
  blobPlan,
  isQueueKind,
  queuePlan,
  type BlobKind,
  type QueueKind,
  type WorkloadKind,
} from './kinds.js';
import { runLoad, type Workload } from './load.js';
import { progress } from './progress.js';
import { countMessages, puts, queueCreation } from './queue-workloads.js';
import { isReference, type ServerName, type ServerProcess } from './server-process.js';
import { dataLoading, tableCreation, type TableData } from './table-workloads.js';

/**
 * The most messages a second that a server can hand out: a measurement needs this many in the
 * queue.
 */
const takenPerSecondMax: Readonly<Record<ServerName, number>> = {
  bare: 0,
  azurite: 200,
  tabularium: 25_000,
  'tabularium-relaxed': 40_000,
  'tabularium-no-journal': 25_000,
  'tabularium-workers': 40_000,
  'tabularium-postgres': 10_000,
};

const progressRows = 100_000;

async function sendAll(
  { target }: ServerProcess,
  workload: Workload,
  connections: number,
): Promise<void> {
  await runLoad(target, workload, { connections, warmupMs: 0, durationMs: Infinity });
}

/** Creates the table and its rows: the same bytes for every server. */
export async function fillTable(
  server: ServerProcess,
  data: TableData,
  connections: number,
): Promise<void> {
  if (server.name === 'bare') return;
  await sendAll(server, tableCreation(server.target), 1);
  const onSent = (rows: number): void => {
    if (rows % progressRows === 0) progress(`${server.name}: ${rows} of ${data.rows} rows sent`);
  };
  await sendAll(server, dataLoading(server.target, data, onSent), connections);
  progress(`${server.name}: table ${tableName} holds ${data.rows} rows`);
}

/** Creates the queues of the kinds, empty. */
export async function createQueues(
  server: ServerProcess,
  kinds: readonly QueueKind[],
): Promise<void> {
  if (server.name === 'bare') return;
  for (const queue of new Set(kinds.map((kind) => queuePlan(kind).queue))) {
    await sendAll(server, queueCreation(server.target, queue), 1);
  }
}

/**
 * More would take the servers for comparison too long: Azurite rewrites the list of its blobs
 * repeatedly.
 */
const referenceBlobsMax = 20_000;
const progressBlobs = 10_000;

/** The number of blobs that a server gets, given the requested number. */
export function blobsOf(server: ServerName, asked: number): number {
  return isReference(server) ? Math.min(asked, referenceBlobsMax) : asked;
}

/** Creates the containers, the blob that is downloaded, and those that are read and listed. */
export async function fillBlobs(
  server: ServerProcess,
  kinds: readonly BlobKind[],
  options: { readonly blobs: number; readonly connections: number },
): Promise<void> {
  if (kinds.length === 0) return;
  await sendAll(server, blobCreation(server.target), 1);
  if (!kinds.some((kind) => blobPlan(kind).readsContainer)) return;
  const blobs = blobsOf(server.name, options.blobs);
  const onSent = (sent: number): void => {
    if (sent % progressBlobs === 0) progress(`${server.name}: ${sent} of ${blobs} blobs sent`);
  };
  await sendAll(server, blobLoading(server.target, blobs, onSent), options.connections);
}

/** Whether a server is measured under a kind: those with a backlog are about this server alone. */
export function isMeasured(server: ServerName, kind: WorkloadKind): boolean {
  return !isQueueKind(kind) || queuePlan(kind).waiting === 0 || !isReference(server);
}

/** Puts messages until enough of them wait for `seconds` of a kind of load. */
export async function topUp(
  server: ServerProcess,
  kind: QueueKind,
  options: { readonly seconds: number; readonly connections: number },
): Promise<void> {
  if (server.name === 'bare') return;
  const { operation, waiting, queue } = queuePlan(kind);
  const taken = operation === 'put' ? 0 : takenPerSecondMax[server.name] * options.seconds;
  const missing = Math.ceil(waiting + taken) - (await countMessages(server.target, queue));
  if (missing <= 0) return;
  progress(`${server.name}: ${missing} messages more in ${queue}`);
  if (takesOverHttp.has(server.name)) {
    await sendAll(server, puts(server.target, queue, missing), options.connections);
  } else {
    await preloadMessages(server, queue, missing);
  }
}

/** A process with a journal does not share its data, and data in a database have no directory. */
const takesOverHttp: ReadonlySet<ServerName> = new Set([
  'azurite',
  'tabularium',
  'tabularium-postgres',
]);

async function preloadMessages(
  { directory, scripts, target }: ServerProcess,
  queue: string,
  count: number,
): Promise<void> {
  const args = [
    join(scripts, 'queue-preload.js'),
    directory,
    target.account.name,
    queue,
    String(count),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`Filling ${queue} ended with ${code}.`);
}
