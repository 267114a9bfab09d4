import { encodeTuple } from '../../src/kv/tuple.js';
import { partitionPrefix, storeService } from '../../src/kv/partition-prefix.js';
import type { Entry, KeyRange, Store } from '../../src/kv/store.js';
import type { SimRandom } from '../support/sim-random.js';
import type { AskedCommit, State } from './ledger.js';

const partitions = 3;
const rows = 12;
const counters = 2;
const everything: KeyRange = { start: Buffer.from([0]) };

/** The key of a name: `p1/row3`. */
export function keyOf(name: string): Uint8Array {
  const [partition = '', row = ''] = name.split('/');
  return Buffer.concat([partitionPrefix('T', 'account', 1, partition), encodeTuple([row])]);
}

/** The content of a store, without the keys of stores. */
export async function stateOf(store: Pick<Store, 'range'>, isReverse: boolean): Promise<State> {
  const found = new Map<string, { text: string; version: number }>();
  for await (const { key, value, version } of entriesOf(store, isReverse)) {
    const name = nameOf(key);
    if (name === undefined) continue;
    const text = Buffer.from(value).toString(name.includes('/count') ? 'hex' : 'latin1');
    found.set(name, { text, version });
  }
  return found;
}

/** The whole content of a store, in several pages. */
export async function* entriesOf(
  store: Pick<Store, 'range'>,
  isReverse: boolean,
): AsyncGenerator<Entry, void, void> {
  let range = everything;
  for (;;) {
    const options = { limit: 20, bytesMax: 20_000, reverse: isReverse };
    const page = await store.range(range, options);
    yield* page.entries;
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return;
    const behind = Buffer.concat([last.key, Buffer.from([0])]);
    range = isReverse ? { ...range, end: last.key } : { ...range, start: behind };
  }
}

const prefixes = new Map(
  Array.from({ length: partitions }, (_, index) => [
    Buffer.from(partitionPrefix('T', 'account', 1, `p${index}`)).toString('latin1'),
    `p${index}`,
  ]),
);
const own = Buffer.from(encodeTuple([storeService])).toString('latin1');

function nameOf(key: Uint8Array): string | undefined {
  const text = Buffer.from(key).toString('latin1');
  if (text.startsWith(own)) return undefined;
  for (const [prefix, name] of prefixes) {
    if (text.startsWith(prefix)) return `${name}/${text.slice(prefix.length + 1, -1)}`;
  }
  throw new Error(`a key that nobody has written: ${text}`);
}

/** A commit on a few rows of a partition; some rows are created once and then deleted for good. */
export function drawCommit(random: SimRandom, serial: number, state: State): AskedCommit {
  const partition = `p${random.int(partitions)}`;
  const name = `${partition}/mark${serial}`;
  const puts = new Map([[name, `c${serial}`]]);
  const deletes: string[] = [];
  const checks: AskedCommit['checks'][number][] = [];
  const count = random.int(6);
  for (let index = 0; index < count; index += 1) {
    const key = `${partition}/row${random.int(rows)}`;
    if (puts.has(key) || deletes.includes(key)) continue;
    const cell = state.get(key);
    if (random.chance(0.6)) checks.push({ key, version: cell?.version ?? 'absent' });
    if (random.chance(0.35)) deletes.push(key);
    else puts.set(key, valueOf(random, serial));
  }
  const adds = new Map<string, number>();
  if (random.chance(0.3))
    adds.set(`${partition}/count${random.int(counters)}`, random.between(-9, 99));
  return { kind: 'commit', name, checks, puts, deletes, adds, outcome: 'waiting' };
}

function valueOf(random: SimRandom, serial: number): string {
  const length = random.weighted({ short: 70, block: 20, long: 9, huge: 1 });
  const bytes = { short: 20, block: 5_000, long: 14_000, huge: 90_000 }[length];
  return `c${serial} `.padEnd(random.int(bytes) + 8, 'v');
}

export function batchOf({ checks, puts, deletes, adds }: AskedCommit) {
  return {
    checks: checks.map(({ key, version }) => ({ key: keyOf(key), version })),
    puts: [...puts].map(([key, text]) => ({ key: keyOf(key), value: Buffer.from(text, 'latin1') })),
    deletes: deletes.map(keyOf),
    adds: [...adds].map(([key, delta]) => ({ key: keyOf(key), delta })),
  };
}
