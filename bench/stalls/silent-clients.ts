import { setTimeout as pause } from 'node:timers/promises';
import { progress } from '../progress.js';
import { bodyBytesMax, type PlainRequest } from './hostile-request.js';
import { MemoryWatch } from './memory-watch.js';
import { stallText, type Bench } from './measuring.js';
import { bigEntity, bigTable, crowdedPrefix, queueName, rowKey } from './world.js';

/** Many clients that stop in the middle of an exchange. */
export interface SilentClients {
  readonly what: string;
  readonly count: number;
  readonly request: PlainRequest;
  /** True: they stop before the end of the body. False: they do not read the answer. */
  readonly stopsInBody: boolean;
}

export interface SilentEffect extends Pick<SilentClients, 'what' | 'count'> {
  readonly stallMs: number;
  /** Requests of another client that were refused. */
  readonly refused: number;
  readonly turnMs: number;
  readonly memoryMb: number;
}

/** Longer than the server waits for a client that neither sends nor reads. */
const watchMs = 6_000;

const unread = { count: 200, stopsInBody: false } as const;

export const silentClients: readonly SilentClients[] = [
  {
    what: 'a page of 4 MiB, not read',
    request: { service: 'table', method: 'GET', path: `/${bigTable}()` },
    ...unread,
  },
  {
    what: '32 messages of 64 KiB, not read',
    request: {
      service: 'queue',
      method: 'GET',
      path: `/${queueName}/messages?peekonly=true&numofmessages=32`,
    },
    ...unread,
  },
  {
    what: 'a list of 5,000 queues, not read',
    request: { service: 'queue', method: 'GET', path: '/?comp=list&include=metadata&prefix=q' },
    ...unread,
  },
  {
    what: 'a list of 600 queues with most metadata, not read',
    request: {
      service: 'queue',
      method: 'GET',
      path: `/?comp=list&include=metadata&prefix=${crowdedPrefix}`,
    },
    ...unread,
  },
  {
    what: 'a list of 1,000 tables, not read',
    request: { service: 'table', method: 'GET', path: '/Tables' },
    ...unread,
  },
  {
    what: 'an entity of 1 MiB, not read',
    request: {
      service: 'table',
      method: 'GET',
      path: `/${bigTable}(PartitionKey='p',RowKey='${rowKey(0)}')`,
    },
    ...unread,
  },
  {
    what: 'an entity of 1 MiB stored, its answer not read',
    request: {
      service: 'table',
      method: 'PUT',
      path: `/${bigTable}(PartitionKey='p',RowKey='${rowKey(0)}')`,
      headers: { 'Content-Type': 'application/json' },
      body: bigEntity(rowKey(0)),
    },
    ...unread,
  },
  {
    what: 'a body of 4 MiB, not completed',
    request: {
      service: 'table',
      method: 'POST',
      path: '/$batch',
      headers: { 'Content-Type': 'multipart/mixed; boundary=batch' },
      body: ' '.repeat(bodyBytesMax),
    },
    count: 200,
    stopsInBody: true,
  },
];

export async function measureSilent(
  { what, count, request, stopsInBody }: SilentClients,
  { server, sender, prober }: Bench,
): Promise<SilentEffect> {
  const memory = await MemoryWatch.begin(server);
  await prober.observe();
  const ends = Array.from({ length: count }, () =>
    stopsInBody ? sender.sendInPart(request) : sender.sendAndForget(request),
  );
  await pause(watchMs);
  const { longestMs: stallMs, refused } = await prober.observe();
  const turnMs = await server.ask('longest turn');
  const memoryMb = memory.peakMb();
  for (const end of ends) end();
  const stall = stallText({ stallMs, refused });
  const times = `${turnMs.toFixed(0)} ms in a turn, stall of ${stall} ms`;
  progress(`${count} clients, ${what}: ${times}, ${memoryMb.toFixed(0)} MB`);
  return { what, count, stallMs, refused, turnMs, memoryMb };
}
