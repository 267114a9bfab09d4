import assert from 'node:assert/strict';
import type { Bytes } from '../../src/base/bytes.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString, stringAt } from '../../src/kv/tuple.js';
import { check } from '../linearizability/checker.js';
import type { Operation } from '../linearizability/history.js';
import {
  names,
  prefixModel,
  type Name,
  type PrefixInput,
  type PrefixOutput,
} from './prefix-model.js';

const partitions = ['p0', 'p1', 'p2', 'p3', 'p4'];

/** The partitions of the simulation, in key order. */
export const prefixes: readonly Bytes[] = partitions.map((partition) =>
  partitionPrefix('tables', 'account', 1, partition),
);

export interface Place {
  readonly prefix: number;
  readonly name: Name;
  readonly key: Bytes;
}

/** Every key that there may be, in key order. */
export const places: readonly Place[] = prefixes.flatMap((bytes, prefix) =>
  names.map((name) => ({ prefix, name, key: appendString(bytes, name) })),
);

export function placeOf(key: Bytes): Place {
  const found = places.find((place) => Buffer.compare(place.key, key) === 0);
  assert.ok(found !== undefined, `no such key: ${stringAt(key, key.length - 3)}`);
  return found;
}

/** What all clients asked of each partition, and what they were told. */
export class Histories {
  readonly #operations = prefixes.map((): Operation<PrefixInput, PrefixOutput>[] => []);
  #time = 0;
  calls = 0;

  now(): number {
    this.#time += 1;
    return this.#time;
  }

  /** A call that began at `invokedAt` and has ended now. */
  record(prefix: number, invokedAt: number, input: PrefixInput, output: PrefixOutput): void {
    this.calls += 1;
    this.#operations[prefix]?.push({ input, output, invokedAt, respondedAt: this.now() });
  }

  /** Throws when no order of the calls explains what clients were told. */
  check(): void {
    for (const [prefix, operations] of this.#operations.entries()) {
      const decision = check(prefixModel, operations);
      if (decision.kind === 'linearizable') continue;
      assert.equal(decision.kind, 'not linearizable', 'the search for an order is bounded');
      const stuck = decision.kind === 'not linearizable' ? decision.stuck : [];
      assert.fail(`no order explains what clients saw of p${prefix}:\n${stuck.join('\n')}`);
    }
  }
}
