import { setTimeout as pause } from 'node:timers/promises';
import { progress } from '../progress.js';
import type { ServerProcess } from '../server-process.js';
import type { HostileRequest, PlainRequest } from './hostile-request.js';
import { MemoryWatch } from './memory-watch.js';
import type { Prober } from './prober.js';
import type { SignedSender } from './signed-sender.js';

export interface Bench {
  readonly server: ServerProcess;
  readonly sender: SignedSender;
  readonly prober: Prober;
}

/** The effect of some requests on another client and on the memory of the server. */
export interface Effect {
  readonly statuses: ReadonlySet<number>;
  readonly stallMs: number;
  /** Requests of the other client that were refused. */
  readonly refused: number;
  /** Processor time of the longest turn of the server's event loop. */
  readonly turnMs: number;
  readonly memoryMb: number;
}

export interface Finding {
  readonly request: HostileRequest;
  readonly alone: Effect;
  readonly together: Effect;
}

/** How many connections send the same request side by side. */
export const crowd = 32;
/** How many requests prepare a round at a time. */
const preparersMax = 8;
/** The pause between two rounds, in which work in the background ends. */
const restMs = 100;

/** Runs work for each item of a list, a few at a time. The results are in the order of the list. */
export async function eachOf<T, R>(
  list: readonly T[],
  sideBySide: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (;;) {
      const place = next;
      const item = list[place];
      if (item === undefined) return;
      next += 1;
      results[place] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, worker));
  return results;
}

/** Sends the preparing requests, and returns the request to measure. */
async function prepared(request: HostileRequest, sender: SignedSender): Promise<PlainRequest> {
  let answer = '';
  for (const before of request.before ?? []) ({ text: answer } = await sender.send(before));
  const { pathFrom, freshHeaders, headers } = request;
  return {
    ...request,
    ...(pathFrom === undefined ? {} : { path: pathFrom(answer) }),
    ...(freshHeaders === undefined ? {} : { headers: { ...headers, ...(await freshHeaders()) } }),
  };
}

async function measureOnce(request: HostileRequest, count: number, bench: Bench): Promise<Effect> {
  const { sender, prober, server } = bench;
  const copies = Array.from({ length: count }, () => request);
  const ready = await eachOf(copies, preparersMax, (each) => prepared(each, sender));
  await pause(restMs);
  const memory = await MemoryWatch.begin(server);
  await prober.observe();
  const answers = await Promise.all(ready.map((each) => sender.send(each)));
  const { longestMs: stallMs, refused } = await prober.observe();
  const turnMs = await server.ask('longest turn');
  const statuses = new Set(answers.map(({ status }) => status));
  return { statuses, stallMs, refused, turnMs, memoryMb: memory.peakMb() };
}

/**
 * The shortest stall and the least memory of some rounds: other work of the machine adds to both.
 */
async function measureBest(
  request: HostileRequest,
  count: number,
  { rounds, bench }: { readonly rounds: number; readonly bench: Bench },
): Promise<Effect> {
  let best = await measureOnce(request, count, bench);
  for (let round = 1; round < rounds; round += 1) {
    const effect = await measureOnce(request, count, bench);
    best = {
      statuses: new Set([...best.statuses, ...effect.statuses]),
      stallMs: Math.min(best.stallMs, effect.stallMs),
      refused: Math.min(best.refused, effect.refused),
      turnMs: Math.min(best.turnMs, effect.turnMs),
      memoryMb: Math.min(best.memoryMb, effect.memoryMb),
    };
  }
  return best;
}

/** A text about the stall of another client. */
export function stallText({ stallMs, refused }: Pick<Effect, 'stallMs' | 'refused'>): string {
  return refused === 0 ? stallMs.toFixed(0) : `${stallMs.toFixed(0)}, ${refused} refused`;
}

function shown(effect: Effect): string {
  const times = `${effect.turnMs.toFixed(0)} ms in a turn, stall of ${stallText(effect)} ms`;
  return `${[...effect.statuses].join()}, ${times}, ${effect.memoryMb.toFixed(1)} MB`;
}

/** Measures a request sent by one client, and by many at the same time. */
export async function measure(
  request: HostileRequest,
  how: { readonly rounds: number; readonly bench: Bench },
): Promise<Finding> {
  const alone = await measureBest(request, 1, how);
  const together = await measureBest(request, crowd, how);
  progress(`${request.operation}, ${request.what}: ${shown(alone)}; together: ${shown(together)}`);
  return { request, alone, together };
}
