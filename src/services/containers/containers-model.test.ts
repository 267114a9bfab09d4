import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { note, noteKind, type NoteRecord } from '../../../test/support/containers.js';
import { manualClock, type ManualClock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Entry, Store } from '../../kv/store.js';
import { appendString, prefixRange, stringAt } from '../../kv/tuple.js';
import { Containers } from './containers.js';
import { servicePrefix } from './keys.js';
import { droppedContainersSweep, droppedGraceMicros } from './reclaim.js';
import { entriesOf } from './walk.js';
import { costly } from '../../../test/support/run-length.js';

// Random operations of two processes against plain maps. A failure prints its seed and the
// shortest sequence of operations that fails.

const { service } = noteKind;
const accounts = ['acct', 'acct2', 'bcct'] as const;
const identities = ['a', 'ab', 'abc', 'b', 'a\0', 'ü', '\ud83d', '\ud83d\udc4d', '\uffff'];
const bounds = ['', 'A', ...identities, 'zz', '\ud83d\udc4d\0'];

interface Address {
  readonly account: string;
  readonly identity: string;
}

interface ListOptions {
  readonly from?: string;
  readonly startsWith?: string;
  readonly limit: number;
}

type Step =
  | { readonly kind: 'create' | 'drop' | 'replace-id' | 'find' }
  | { readonly kind: 'update'; readonly text: string }
  | { readonly kind: 'write'; readonly row: string }
  | { readonly kind: 'list'; readonly options: ListOptions }
  | { readonly kind: 'reclaim'; readonly entriesMax: number; readonly late: boolean };

const listOptions = fc.record(
  {
    from: fc.constantFrom(...bounds),
    startsWith: fc.constantFrom(...bounds),
    limit: fc.constantFrom(1, 2, 5, 100),
  },
  { requiredKeys: ['limit'] },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'create' }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom({ kind: 'drop' }, { kind: 'replace-id' }, { kind: 'find' }),
  },
  { weight: 2, arbitrary: fc.constantFrom('x', 'y').map((text) => ({ kind: 'update', text })) },
  { weight: 5, arbitrary: fc.constantFrom('r1', 'r2').map((row) => ({ kind: 'write', row })) },
  { weight: 2, arbitrary: listOptions.map((options) => ({ kind: 'list', options })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(1, 3, 100), fc.boolean())
      .map(([entriesMax, late]) => ({ kind: 'reclaim', entriesMax, late })),
  },
) as fc.Arbitrary<Step>;

const operation = fc.record({
  process: fc.nat(1),
  address: fc.record({
    account: fc.constantFrom(...accounts),
    identity: fc.constantFrom(...identities),
  }),
  step,
});

interface Modelled {
  record: NoteRecord;
  rows: Set<string>;
}

const ordinal = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);

/** The store chooses ids, but may use each one only once. */
class World {
  readonly #store: Store;
  readonly #clock: ManualClock;
  readonly #processes: readonly Containers<NoteRecord>[];
  readonly #dropped: ReturnType<typeof droppedContainersSweep>;
  readonly #model = new Map<string, Map<string, Modelled>>(
    accounts.map((account) => [account, new Map<string, Modelled>()]),
  );
  readonly #ids = new Set<string>();

  constructor(store: Store, clock: ManualClock) {
    this.#store = store;
    this.#clock = clock;
    this.#processes = [new Containers(store, noteKind), new Containers(store, noteKind)];
    this.#dropped = droppedContainersSweep(store, clock, service);
  }

  async run(process: number, address: Address, what: Step): Promise<void> {
    const containers = this.#processes[process];
    assert.ok(containers !== undefined);
    switch (what.kind) {
      case 'create':
        return this.#create(containers, address);
      case 'drop':
        return this.#drop(containers, address);
      case 'find':
        return this.#find(containers, address);
      case 'replace-id':
        return this.#replaceId(containers, address);
      case 'update':
        return this.#update(containers, address, what.text);
      case 'write':
        return this.#write(containers, address, what.row);
      case 'list':
        return this.#list(containers, address.account, what.options);
      case 'reclaim':
        if (what.late) this.#clock.advanceMicros(droppedGraceMicros + 1000);
        await this.#reclaim(what.entriesMax);
        return;
      default:
        return unreachable(what);
    }
  }

  /**
   * Checks that reads agree with the model, and that nothing else is stored after the grace time.
   */
  async settle(): Promise<void> {
    // The current round may already have passed what was deleted after its start.
    while (await this.#reclaim(3));
    while (await this.#reclaim(3));
    this.#clock.advanceMicros(droppedGraceMicros + 1000);
    await this.#reclaim(3);
    const everything: { account: string; id: number }[] = [];
    let stored = 0;
    for (const account of accounts) {
      for (const [identity, { record, rows }] of this.#sorted(account)) {
        everything.push({ account, id: record.id });
        stored += 1 + rows.size;
        assert.deepEqual(await this.#rows({ account, identity }), [...rows].sort(ordinal));
      }
      // The counter of ids remains.
      if ([...this.#ids].some((id) => id.startsWith(`${account}/`))) stored += 1;
    }
    for (const containers of this.#processes) {
      const all: typeof everything = [];
      for await (const found of containers.all()) all.push(found);
      assert.deepEqual(all, everything);
    }
    assert.equal((await this.#entries(servicePrefix(service))).length, stored);
  }

  async #create(containers: Containers<NoteRecord>, address: Address): Promise<void> {
    const { account, identity } = address;
    const result = await containers.create(account, identity, note(identity));
    const known = this.#get(address);
    assert.equal(result.created, known === undefined);
    if (known !== undefined) {
      assert.deepEqual(result.record, known.record);
      return;
    }
    this.#takeId(account, result.record.id);
    assert.deepEqual(result.record, { id: result.record.id, name: identity, text: '' });
    this.#of(account).set(identity, { record: result.record, rows: new Set() });
  }

  async #drop(containers: Containers<NoteRecord>, { account, identity }: Address): Promise<void> {
    const dropped = await containers.drop(account, identity);
    assert.equal(dropped, this.#of(account).delete(identity));
  }

  async #find(containers: Containers<NoteRecord>, address: Address): Promise<void> {
    const found = await containers.find(address.account, address.identity);
    assert.deepEqual(found, this.#get(address)?.record);
  }

  async #replaceId(containers: Containers<NoteRecord>, address: Address): Promise<void> {
    const known = this.#get(address);
    const record = await containers.replaceId(address.account, address.identity, (old, id) => {
      assert.deepEqual(old, known?.record);
      return { ...old, id };
    });
    assert.equal(record === undefined, known === undefined);
    if (record === undefined || known === undefined) return;
    this.#takeId(address.account, record.id);
    assert.deepEqual(record, { ...known.record, id: record.id });
    this.#of(address.account).set(address.identity, { record, rows: new Set() });
  }

  async #update(containers: Containers<NoteRecord>, address: Address, text: string): Promise<void> {
    const known = this.#get(address);
    const change = (old: NoteRecord) => ({ ...old, text: old.text + text });
    const expected = known === undefined ? undefined : change(known.record);
    assert.deepEqual(await containers.update(address.account, address.identity, change), expected);
    if (known === undefined || expected === undefined) return;
    this.#of(address.account).set(address.identity, { ...known, record: expected });
  }

  async #write(containers: Containers<NoteRecord>, address: Address, row: string): Promise<void> {
    const known = this.#get(address);
    const prefix = await containers.prefixOf(address.account, address.identity);
    assert.equal(prefix === undefined, known === undefined);
    if (prefix === undefined) return;
    const puts = [{ key: appendString(prefix, row), value: new Uint8Array() }];
    await this.#store.commit({ checks: [], puts, deletes: [] });
    known?.rows.add(row);
  }

  async #list(
    containers: Containers<NoteRecord>,
    account: string,
    options: ListOptions,
  ): Promise<void> {
    const { from = '', startsWith = '', limit } = options;
    const wanted = this.#sorted(account).filter(
      ([identity]) => identity >= from && identity.startsWith(startsWith),
    );
    const records = wanted.slice(0, limit).map(([, { record }]) => record);
    const next = wanted[limit]?.[0];
    const page = await containers.list(account, options);
    assert.deepEqual([[...page.records], page.next], [records, next]);
  }

  async #reclaim(entriesMax: number): Promise<boolean> {
    const { deleted, more } = await this.#dropped.step(entriesMax);
    assert.ok(deleted <= entriesMax);
    return more;
  }

  async #rows({ account, identity }: Address): Promise<string[]> {
    const prefixes = await Promise.all(
      this.#processes.map(async (containers) => containers.prefixOf(account, identity)),
    );
    const [prefix] = prefixes;
    assert.ok(prefix !== undefined);
    for (const other of prefixes) assert.deepEqual(other, prefix);
    return (await this.#entries(prefix)).map(({ key }) => stringAt(key, prefix.length));
  }

  async #entries(prefix: Uint8Array) {
    const entries: Entry[] = [];
    for await (const entry of entriesOf(this.#store, prefixRange(prefix))) entries.push(entry);
    return entries;
  }

  #of(account: string): Map<string, Modelled> {
    const containers = this.#model.get(account);
    assert.ok(containers !== undefined);
    return containers;
  }

  #get({ account, identity }: Address): Modelled | undefined {
    return this.#of(account).get(identity);
  }

  #sorted(account: string): (readonly [string, Modelled])[] {
    return [...this.#of(account)].sort(([left], [right]) => ordinal(left, right));
  }

  #takeId(account: string, id: number): void {
    const name = `${account}/${id}`;
    assert.ok(!this.#ids.has(name), `the id ${name} was given out twice`);
    this.#ids.add(name);
  }
}

describe('containers', () => {
  it('do what plain maps do, whatever the order of operations', costly(), async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 120, size: 'max' }), async (operations) => {
        const clock = manualClock();
        const store = await openMemoryStore({ clock });
        const world = new World(withPartitionRule(store), clock);
        for (const { process, address, step: what } of operations) {
          await world.run(process, address, what);
        }
        await world.settle();
        await store.close();
      }),
      { numRuns: 40 },
    );
  });
});
