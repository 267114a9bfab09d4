import { unreachable } from '../../src/base/invariant.js';
import { decodeCounter } from '../../src/kv/counter.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import type { Check, CommitResult, Entry, KeyRange, Store } from '../../src/kv/store.js';
import { keyAfter, prefixRange } from '../../src/kv/tuple.js';
import type { SimRandom } from '../support/sim-random.js';
import { placeOf, places, prefixes, type Histories, type Place } from './histories.js';
import { names, type Cell, type Cells, type Demand, type Name } from './prefix-model.js';
import type { PrefixInput } from './prefix-model.js';
import { LostAnswerError } from './sim-store.js';

/** Reads and writes partitions one call after the other, and notes what it is told. */
export class Client {
  readonly #store: Store;
  readonly #histories: Histories;
  readonly #random: SimRandom;
  readonly #name: string;
  readonly #seen: Cells[] = prefixes.map(() => ({}));
  #serial = 0;

  constructor(store: Store, histories: Histories, random: SimRandom, name: string) {
    this.#store = store;
    this.#histories = histories;
    this.#random = random;
    this.#name = name;
  }

  /** `writes`: how often it writes, beside 11 reads; may be 0. */
  async run(calls: number, writes: number): Promise<void> {
    for (let count = 0; count < calls; count += 1) {
      const kind = this.#random.weighted({ write: writes, get: 3, getMany: 3, range: 3, scan: 2 });
      const prefix = this.#random.int(prefixes.length);
      try {
        await this.#call(kind, prefix);
      } catch (error) {
        // Nothing was done; a client of a server would be asked to come again.
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    }
  }

  /** All partitions as they are in the end. */
  async readAll(): Promise<void> {
    for (const prefix of prefixes.keys()) await this.#getMany(prefix);
    await this.#scan(false);
    await this.#scan(true);
  }

  #call(kind: 'write' | 'get' | 'getMany' | 'range' | 'scan', prefix: number): Promise<void> {
    switch (kind) {
      case 'write':
        return this.#write(prefix);
      case 'get':
        return this.#get(prefix);
      case 'getMany':
        return this.#getMany(prefix);
      case 'range':
        return this.#range(prefix);
      case 'scan':
        return this.#scan(this.#random.chance(0.5));
      default:
        return unreachable(kind);
    }
  }

  async #get(prefix: number): Promise<void> {
    const place = this.#random.pick(placesIn(prefix));
    const invokedAt = this.#histories.now();
    const entry = await this.#store.get(place.key);
    this.#read(prefix, invokedAt, [place], [entry]);
  }

  async #getMany(prefix: number): Promise<void> {
    const asked = placesIn(prefix);
    const invokedAt = this.#histories.now();
    const entries = await this.#store.getMany(asked.map(({ key }) => key));
    this.#read(prefix, invokedAt, asked, entries);
  }

  async #range(prefix: number): Promise<void> {
    const asked = placesIn(prefix);
    const invokedAt = this.#histories.now();
    const range = prefixRange(prefixes[prefix] ?? Buffer.alloc(0));
    const page = await this.#store.range(range, { limit: 100, bytesMax: 10_000 });
    this.#read(prefix, invokedAt, asked, page.entries);
  }

  /** Everything in pages: a page shows each partition as of one moment. */
  async #scan(reverse: boolean): Promise<void> {
    let left = reverse ? places.toReversed() : places;
    let rest: KeyRange = prefixRange(Buffer.from(prefixes[0] ?? []).subarray(0, -2));
    for (;;) {
      const limit = this.#random.between(1, 9);
      const invokedAt = this.#histories.now();
      const page = await this.#store.range(rest, { limit, bytesMax: 10_000, reverse });
      const last = page.entries.at(-1);
      if (page.more && last === undefined) throw new Error('a page without entries says more');
      const end = page.more && last ? left.indexOf(placeOf(last.key)) + 1 : left.length;
      const covered = left.slice(0, end);
      for (const prefix of new Set(covered.map((place) => place.prefix))) {
        const asked = covered.filter((place) => place.prefix === prefix);
        this.#read(prefix, invokedAt, asked, page.entries);
      }
      left = left.slice(end);
      if (!page.more || last === undefined) return;
      rest = reverse ? { ...rest, end: last.key } : { ...rest, start: keyAfter(last.key) };
    }
  }

  #read(
    prefix: number,
    invokedAt: number,
    asked: readonly Place[],
    entries: readonly (Entry | undefined)[],
  ): void {
    const cells = cellsOf(asked, entries);
    const input: PrefixInput = { kind: 'read', names: asked.map(({ name }) => name) };
    this.#seen[prefix] = { ...this.#seen[prefix], ...cells };
    this.#histories.record(prefix, invokedAt, input, { kind: 'read', cells });
  }

  async #write(prefix: number): Promise<void> {
    const input = this.#drawn(prefix);
    const keys = new Map(placesIn(prefix).map(({ name, key }) => [name, key]));
    const keyOf = (name: Name) => keys.get(name) ?? Buffer.alloc(0);
    const invokedAt = this.#histories.now();
    const checks = input.checks.map(({ name, demand }): Check => {
      return { key: keyOf(name), version: demand };
    });
    const puts = names.flatMap((name) => {
      const value = input.puts[name];
      return value === undefined ? [] : [{ key: keyOf(name), value: Buffer.from(value) }];
    });
    const deletes = input.deletes.map(keyOf);
    const adds = input.add > 0 ? [{ key: keyOf('n'), delta: input.add }] : [];
    const result = await this.#outcome(this.#store.commit({ checks, puts, deletes, adds }));
    if (result === undefined) return;
    const output = result.ok
      ? ({ kind: 'written', version: result.version } as const)
      : ({ kind: 'failed', check: result.failedCheck, actual: result.actual } as const);
    this.#histories.record(prefix, invokedAt, input, output);
  }

  /** What became of a commit; undefined when nothing did. */
  async #outcome(commit: Promise<CommitResult>): Promise<CommitResult | undefined> {
    try {
      return await commit;
    } catch (error) {
      if (error instanceof LostAnswerError) return error.result;
      throw error;
    }
  }

  #drawn(prefix: number): PrefixInput & { readonly kind: 'write' } {
    const random = this.#random;
    if (random.chance(0.25)) return { kind: 'write', checks: [], puts: {}, deletes: names, add: 0 };
    const puts: Partial<Record<Name, string>> = {};
    const deletes: Name[] = [];
    for (const name of ['a', 'b'] as const) {
      const what = random.weighted({ put: 4, delete: 2, none: 2 });
      this.#serial += 1;
      if (what === 'put') puts[name] = `${this.#name}${this.#serial}`;
      if (what === 'delete') deletes.push(name);
    }
    // A commit without a key belongs to no partition.
    const isEmpty = deletes.length === 0 && Object.keys(puts).length === 0;
    const add = isEmpty || random.chance(0.4) ? random.between(1, 9) : 0;
    if (add === 0 && random.chance(0.1)) deletes.push('n');
    const checks = random.chance(0.3) ? [this.#demand(prefix, random.pick(names))] : [];
    return { kind: 'write', checks, puts, deletes, add };
  }

  #demand(prefix: number, name: Name): { readonly name: Name; readonly demand: Demand } {
    const seen = this.#seen[prefix]?.[name]?.version;
    const demand = this.#random.pick<Demand>(['absent', 'present', seen ?? 'absent']);
    return { name, demand };
  }
}

export function placesIn(prefix: number): readonly Place[] {
  return places.filter((place) => place.prefix === prefix);
}

/** What entries say of places of one partition. */
export function cellsOf(
  asked: readonly Place[],
  entries: readonly (Entry | undefined)[],
): Partial<Record<Name, Cell>> {
  const cells: Partial<Record<Name, Cell>> = {};
  for (const entry of entries) {
    if (entry === undefined) continue;
    const place = placeOf(entry.key);
    if (asked.includes(place)) cells[place.name] = cellOf(entry, place);
  }
  return cells;
}

function cellOf({ value, version }: Entry, { name }: Place): Cell {
  if (name === 'n') return { value: decodeCounter(value), version };
  return { value: Buffer.from(value).toString(), version };
}
