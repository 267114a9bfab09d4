import assert from 'node:assert/strict';
import type { ManualClock } from '../../src/base/clock.js';
import type { PeekedMessage } from '../../src/services/queues/types.js';
import { StorageError } from '../../src/model/errors/storage-error.js';
import {
  WireRefusal,
  type QueueHousekeeping,
  type QueueOperations,
} from '../support/queue-operations.js';
import type { SimRandom } from '../support/sim-random.js';
import type { ModelAccount, ModelMessage, ModelQueue } from './queue-model.js';

export const accounts = ['firstaccount', 'second'] as const;
export type Account = (typeof accounts)[number];

const queueNamePool = ['jobs', 'jobs-2', 'jobs2', 'a1b', '0-9', 'zz-top'];
const historyLength = 16;

/** One server, or several that share a store. */
export interface Servers {
  /** Each step uses a random one. None may show a state that another has changed. */
  readonly operations: readonly QueueOperations[];
  /** Absent when the servers are reached over HTTP. */
  readonly housekeeping?: readonly QueueHousekeeping[];
}

export interface WorldOptions {
  readonly random: SimRandom;
  readonly clock: ManualClock;
  readonly servers: Servers;
  /** Reduces a time to the precision of responses. */
  readonly shownMicros: (micros: number) => number;
}

/** A step's outcome: a value, or the code of the refusal. */
export type Outcome<T> = { readonly value: T } | { readonly code: string };

export class QueueWorld {
  readonly random: SimRandom;
  readonly clock: ManualClock;
  readonly shownMicros: (micros: number) => number;
  servers: Servers;
  readonly accounts: Readonly<Record<Account, ModelAccount>> = {
    firstaccount: new Map<string, ModelQueue>(),
    second: new Map<string, ModelQueue>(),
  };
  /** Every id and receipt issued so far: none may be issued twice. */
  readonly #given = new Set<string>();
  /** Deleted messages, for requests that come too late. */
  readonly #gone: ModelMessage[] = [];
  readonly #history: string[] = [];
  /** The counts of each outcome of each operation. */
  readonly outcomes = new Map<string, number>();

  constructor({ random, clock, servers, shownMicros }: WorldOptions) {
    this.random = random;
    this.clock = clock;
    this.servers = servers;
    this.shownMicros = shownMicros;
  }

  get now(): number {
    return this.clock.nowMicros();
  }

  get history(): string {
    return this.#history.join('\n');
  }

  note(line: string): void {
    this.#history.push(`${this.now} ${line}`);
    if (this.#history.length > historyLength) this.#history.shift();
  }

  server(): QueueOperations {
    return this.random.pick(this.servers.operations);
  }

  /** A queue of the model, or a name without a queue. */
  place(): { readonly account: Account; readonly name: string; readonly queue?: ModelQueue } {
    const account = this.random.pick(accounts);
    const existing = [...this.accounts[account]];
    if (existing.length > 0 && this.random.chance(0.95)) {
      const [name, queue] = this.random.pick(existing);
      return { account, name, queue };
    }
    const name = this.random.pick(queueNamePool);
    const queue = this.accounts[account].get(name);
    return queue === undefined ? { account, name } : { account, name, queue };
  }

  anyName(): string {
    return this.random.pick(queueNamePool);
  }

  /**
   * Runs an operation for which these faults apply. Without faults it must succeed, and its value
   * is returned; otherwise it must be refused for one of them.
   */
  async run<T>(
    name: string,
    details: unknown,
    faults: readonly string[],
    operation: (server: QueueOperations) => Promise<T>,
  ): Promise<T | undefined> {
    this.note(`${name} ${shortly(details)}`);
    const outcome = await outcomeOf(operation(this.server()));
    const shown = 'code' in outcome ? outcome.code : 'done';
    this.note(`  -> ${'code' in outcome ? shown : shortly(outcome.value)}`);
    const key = `${name} ${shown}`;
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
    if (faults.length > 0) {
      assert.ok(faults.includes(shown), `${shown}, not refused with ${faults.join(' or ')}`);
      return undefined;
    }
    assert.ok('value' in outcome, `refused with ${shown}, nothing is wrong`);
    return outcome.value;
  }

  /** Checks that an id or receipt is new. */
  fresh(text: string): string {
    assert.ok(text.length > 0 && !this.#given.has(text), `${text} was given out before`);
    this.#given.add(text);
    return text;
  }

  bury(message: ModelMessage): void {
    this.#gone.push(message);
    if (this.#gone.length > 50) this.#gone.shift();
  }

  /** A message that was deleted, cleared or dropped; undefined when there is none. */
  buried(): ModelMessage | undefined {
    return this.#gone.length === 0 ? undefined : this.random.pick(this.#gone);
  }

  assertShown(actual: PeekedMessage, expected: ModelMessage): void {
    assert.deepEqual(
      {
        id: actual.id,
        text: actual.text,
        insertedMicros: actual.insertedMicros,
        expiresMicros: actual.expiresMicros,
        dequeueCount: actual.dequeueCount,
      },
      {
        id: expected.id,
        text: expected.text,
        insertedMicros: this.shownMicros(expected.insertedMicros),
        expiresMicros: this.shownMicros(expected.expiresMicros),
        dequeueCount: expected.dequeueCount,
      },
    );
  }
}

async function outcomeOf<T>(operation: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await operation };
  } catch (error) {
    if (error instanceof StorageError || error instanceof WireRefusal) return { code: error.code };
    throw error;
  }
}

function shortly(value: unknown): string {
  const text = JSON.stringify(value, (key, part: unknown) =>
    key === 'text' && typeof part === 'string' && part.length > 40
      ? `${part.slice(0, 40)}…(${part.length})`
      : part === Infinity
        ? 'Infinity'
        : part,
  );
  return text === undefined ? '' : text.length > 700 ? `${text.slice(0, 700)}…` : text;
}
