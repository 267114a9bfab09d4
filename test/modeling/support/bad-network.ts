import { ModelError, type RowQuery, type TableGateway } from '../../../src/modeling/index.js';
import { byLength, drawn } from '../../support/run-length.js';
import { SimRandom } from '../../support/sim-random.js';
import { LostAnswerError } from './crash-points.js';
import { MemoryTable, type MemoryRows } from './memory-table.js';
import { deferred } from '../../../src/base/async/deferred.js';

// A network that loses requests and answers, a client that repeats what had succeeded, a service
// with short pages, and processes that die in between: all drawn from a seed.

/** How often what happens, of all requests. */
const odds = { lost: 0.02, killed: 0.01, unanswered: 0.03, repeated: 0.03, short: 0.3 } as const;

/** Texts that begin with each other, or have what keys forbid, escape or reserve. */
export const oddTexts: readonly string[] = (
  'a,a_,a_b,ab,A,0, ,.,..,~a,!a,a~,~moving_,__proto__,é,日本,😀,a/b,a\\b,#,' +
  `\uffed,\uffee,a\uffff,${'x'.repeat(150)}`
).split(',');

/** A process until it is killed; then nothing that it waits for ever comes. */
export interface BadProcess {
  /** A table as the process reaches it. */
  readonly table: (rows: MemoryRows, name?: string) => TableGateway;
  /** Resolves when the work is done, or the process dead. */
  readonly untilDeath: (work: () => Promise<void>) => Promise<void>;
}

export class BadNetwork {
  readonly random: SimRandom;
  #isGood = false;

  constructor(seed: number) {
    this.random = new SimRandom(seed);
  }

  /** Two texts, or one that was drawn twice. */
  pair(): readonly string[] {
    return [...new Set([this.random.pick(oddTexts), this.random.pick(oddTexts)])];
  }

  /** From now on nothing goes wrong. Requests under way come to their end first. */
  async mend(): Promise<void> {
    this.#isGood = true;
    for (let turn = 0; turn < 20; turn += 1) await turnOfLoop();
  }

  start(): BadProcess {
    let isDead = false;
    const { promise: death, resolve: die } = deferred();
    const kill = (): Promise<never> => {
      isDead = true;
      die();
      return forever();
    };
    const send = async <T>(isWrite: boolean, request: () => Promise<T>): Promise<T> => {
      for (let turn = 0; turn === 0 || this.random.chance(0.3); turn += 1) await turnOfLoop();
      if (isDead) return forever();
      const happens = (odd: number): boolean => !this.#isGood && this.random.chance(odd);
      if (happens(odds.lost)) throw new LostAnswerError('a request');
      if (happens(odds.killed)) return kill();
      if (!isWrite) return request();
      const isUnanswered = happens(odds.unanswered);
      const isRepeated = !isUnanswered && happens(odds.repeated);
      if (isUnanswered || isRepeated) await request();
      if (isUnanswered) throw new LostAnswerError('a write');
      return request();
    };
    const shorter = (query: RowQuery): RowQuery => {
      if (this.#isGood || !this.random.chance(odds.short)) return query;
      return { ...query, limit: Math.min(query.limit ?? 3, this.random.between(1, 3)) };
    };
    return {
      table: (rows, name = 'memory') => {
        const table = new MemoryTable(rows, { table: name });
        return {
          table: name,
          get: (key, select) => send(false, () => table.get(key, select)),
          page: (query) => send(false, () => table.page(shorter(query))),
          write: (write) => send(true, () => table.write(write)),
          transact: (writes) => send(true, () => table.transact(writes)),
        };
      },
      untilDeath: (work) => Promise.race([work(), death]),
    };
  }
}

/** What a number of which additions were tried and acknowledged may be. */
export class Tally {
  #tried = 0;
  #acknowledged = 0;

  async add(attempt: () => Promise<unknown>): Promise<void> {
    this.#tried += 1;
    await attempt();
    this.#acknowledged += 1;
  }

  /** Undefined when the number is right. */
  fault(found: number | undefined): string | undefined {
    const isRight = found !== undefined && found >= this.#acknowledged && found <= this.#tried;
    return isRight ? undefined : `${found} of ${this.#acknowledged} to ${this.#tried}`;
  }
}

/**
 * Runs it on so many networks in this form of the tests. The short form has the same few seeds each
 * time; a failure names its seed.
 */
export async function onBadNetworks(
  rounds: { readonly short: number; readonly long: number },
  run: (network: BadNetwork) => Promise<void>,
): Promise<void> {
  const first = byLength({ short: 1, long: drawn(1e9) });
  for (let seed = first; seed < first + byLength(rounds); seed += 1) {
    try {
      await run(new BadNetwork(seed));
    } catch (error) {
      throw new Error(`with the seed ${seed}`, { cause: error });
    }
  }
}

/** Several tries; what the library refuses or leaves open ends a try. */
export async function tries(count: number, attempt: () => Promise<unknown>): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    try {
      await attempt();
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
    }
  }
}

function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
