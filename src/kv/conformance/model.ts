import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import * as fc from 'fast-check';
import { compareBytes, concatBytes, equalBytes } from '../../base/bytes.js';
import { counterBytes, decodeCounter, encodeCounter } from '../counter.js';
import type { Add, CommitBatch, Entry, KeyRange, Put, RangeOptions, Store } from '../store.js';
import { partitionPrefix } from '../partition-prefix.js';
import { prefixRange } from '../tuple.js';
import { setUp, wholeRange } from './batches.js';
import type { ConformanceSuite } from './suite.js';

/** A key of the model. There are few keys, so that operations collide. */
type Letters = readonly number[];

type Operation =
  | {
      readonly kind: 'commit';
      readonly checks: readonly { readonly key: Letters; readonly demand: number }[];
      readonly puts: readonly { readonly key: Letters; readonly size: number }[];
      readonly deletes: readonly Letters[];
      readonly adds: readonly { readonly key: Letters; readonly delta: number }[];
    }
  | { readonly kind: 'get'; readonly keys: readonly Letters[] }
  | {
      readonly kind: 'range';
      readonly start: Letters;
      readonly end: Letters;
      readonly options: RangeOptions;
    };

const letters = fc.array(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), { minLength: 0, maxLength: 3 });

const operations = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('commit' as const),
      checks: fc.array(fc.record({ key: letters, demand: fc.nat(5) }), { maxLength: 2 }),
      puts: fc.array(fc.record({ key: letters, size: fc.nat(40) }), { maxLength: 4 }),
      deletes: fc.array(letters, { maxLength: 2 }),
      adds: fc.array(fc.record({ key: letters, delta: fc.integer() }), { maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('get' as const), keys: fc.array(letters, { maxLength: 4 }) }),
    fc.record({
      kind: fc.constant('range' as const),
      start: letters,
      end: letters,
      options: fc.record({
        limit: fc.integer({ min: 1, max: 6 }),
        bytesMax: fc.nat(120),
        reverse: fc.boolean(),
      }),
    }),
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
);

/** Any sequence of operations does what a plain sorted array does. */
export function modelConformance(suite: ConformanceSuite): void {
  it('does what a sorted array does, whatever the operations', async (t) => {
    const { store, clock } = await setUp(suite, t);
    let run = 0;
    const property = fc.asyncProperty(operations, async (sequence) => {
      // Each run has keys of its own in the one store.
      run += 1;
      const prefix = Buffer.from(partitionPrefix('tables', 'account', 1, `run ${run}`));
      const model = new Model(prefix);
      for (const operation of sequence) {
        await model.apply(store, operation);
        clock.advanceMicros((sequence.length % 3) - 1);
      }
      const page = await store.range(prefixRange(prefix), wholeRange);
      assert.deepEqual(page.entries.map(plain), model.entries.map(plain));
    });
    await fc.assert(property, { numRuns: suite.modelRuns ?? 60 });
  });
}

class Model {
  entries: Entry[] = [];
  readonly #prefix: Buffer;
  #lastVersion = 0;

  constructor(prefix: Buffer) {
    this.#prefix = prefix;
  }

  async apply(store: Store, operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'commit':
        return this.#commit(store, this.#batch(operation));
      case 'get': {
        const keys = operation.keys.map((key) => this.#key(key));
        const found = await store.getMany(keys);
        const expected = keys.map((key) => this.#find(key));
        assert.deepEqual(found.map(plain), expected.map(plain));
        const [first] = keys;
        if (first !== undefined)
          assert.deepEqual(plain(await store.get(first)), plain(expected[0]));
        return undefined;
      }
      case 'range': {
        const range = { start: this.#key(operation.start), end: this.#key(operation.end) };
        const page = await store.range(range, operation.options);
        const expected = this.#page(range, operation.options);
        assert.deepEqual(page.entries.map(plain), expected.entries.map(plain));
        assert.equal(page.more, expected.more);
        return undefined;
      }
    }
  }

  async #commit(store: Store, batch: CommitBatch): Promise<void> {
    const failed = batch.checks.findIndex(({ key, version }) => {
      const actual = this.#find(key)?.version ?? 'absent';
      return version === 'present' ? actual === 'absent' : actual !== version;
    });
    const result = await store.commit(batch);
    if (failed !== -1) {
      const actual = this.#find(batch.checks[failed]?.key ?? Buffer.alloc(0))?.version ?? 'absent';
      assert.deepEqual(result, { ok: false, failedCheck: failed, actual });
      return;
    }
    assert.ok(result.ok);
    // A commit without a key belongs to no partition.
    if (isWithoutKeys(batch)) return;
    assert.ok(result.version > this.#lastVersion);
    const { version } = result;
    this.#lastVersion = version;
    const puts = [...batch.puts, ...(batch.adds ?? []).map((each) => this.#sum(each))];
    const written = [...batch.deletes, ...puts.map(({ key }) => key)];
    this.entries = this.entries
      .filter(({ key }) => !written.some((other) => equalBytes(key, other)))
      .concat(puts.map(({ key, value }) => ({ key, value, version })))
      .toSorted((left, right) => compareBytes(left.key, right.key));
  }

  #batch(operation: Operation & { kind: 'commit' }): CommitBatch {
    const puts = new Map(
      operation.puts.map(({ key, size }) => [String(key), { key: this.#key(key), size }]),
    );
    const adds = new Map(
      operation.adds
        .map(({ key, delta }) => [String(key), { key: this.#key(key), delta }] as const)
        .filter(([name, { key }]) => !puts.has(name) && this.#takesAdditions(key)),
    );
    const deletes = new Map(operation.deletes.map((key) => [String(key), this.#key(key)]));
    return {
      checks: operation.checks.map(({ key, demand }) => this.#check(this.#key(key), demand)),
      puts: [...puts.values()].map(({ key, size }) => ({ key, value: Buffer.alloc(size, size) })),
      deletes: [...deletes].flatMap(([name, key]) =>
        puts.has(name) || adds.has(name) ? [] : [key],
      ),
      ...(adds.size > 0 && { adds: [...adds.values()] }),
    };
  }

  /** Puts never store a counter, so a key accepts additions only when absent or created by one. */
  #takesAdditions(key: Buffer): boolean {
    const value = this.#find(key)?.value;
    return value === undefined || (value.length === counterBytes && value[0] !== counterBytes);
  }

  #sum({ key, delta }: Add): Put {
    const before = this.#find(key)?.value;
    return { key, value: encodeCounter((before ? decodeCounter(before) : 0) + delta) };
  }

  /** Mostly holds, so that most commits apply. */
  #check(key: Buffer, demand: number): CommitBatch['checks'][number] {
    const actual = this.#find(key)?.version;
    if (demand === 0) return { key, version: 'absent' };
    if (demand === 1) return { key, version: 'present' };
    if (demand === 2) return { key, version: (actual ?? 1) + 1 };
    return { key, version: actual ?? 'absent' };
  }

  #page(range: KeyRange, options: RangeOptions): { entries: Entry[]; more: boolean } {
    const inside = this.entries.filter(
      ({ key }) => compareBytes(key, range.start) >= 0 && compareBytes(key, range.end ?? key) < 0,
    );
    const ordered = options.reverse === true ? inside.toReversed() : inside;
    let bytes = 0;
    const fitting = ordered.findIndex(({ key, value }, index) => {
      bytes += key.length + value.length;
      return index > 0 && (index >= options.limit || bytes > options.bytesMax);
    });
    if (fitting === -1) return { entries: ordered, more: false };
    return { entries: ordered.slice(0, fitting), more: true };
  }

  #find(key: Buffer | CommitBatch['deletes'][number]): Entry | undefined {
    return this.entries.find((entry) => equalBytes(entry.key, key));
  }

  #key(letters: Letters): Buffer {
    return Buffer.from(concatBytes(this.#prefix, Buffer.from(letters)));
  }
}

function isWithoutKeys({ checks, puts, deletes, adds = [] }: CommitBatch): boolean {
  return checks.length + puts.length + deletes.length + adds.length === 0;
}

function plain(entry: Entry | undefined): unknown {
  if (entry === undefined) return undefined;
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return { key: hex(entry.key), value: hex(entry.value), version: entry.version };
}
