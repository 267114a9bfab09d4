import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { manualClock } from '../../base/clock.js';
import { SortedByKey } from '../../base/sorted-by-key.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Candidate, Decision, Entry, KeyRange, RangePage, Store } from '../../kv/store.js';
import { encodeTuple } from '../../kv/tuple.js';
import { openMemoryStore } from '../memory/store.js';
import type { Change } from './frame-change.js';
import { mergedRange } from './merged-range.js';

const partitions = 3;
const rows = 8;
const places = partitions * rows;
const everything: KeyRange = { start: Buffer.from([0]) };

function keyAt(place: number): Uint8Array {
  const partition = partitionPrefix('T', 'account', 1, `p${Math.floor(place / rows)}`);
  return Buffer.concat([partition, encodeTuple([place % rows])]);
}

const place = fc.nat({ max: places - 1 });
const decision = fc.constantFrom<Decision>('take', 'take', 'use', 'use', 'skip', 'stop');
const cases = fc.record({
  inBase: fc.uniqueArray(place),
  changes: fc.uniqueArray(fc.record({ at: place, isGone: fc.boolean() }), {
    selector: (c) => c.at,
  }),
  bounds: fc.record({ start: place, end: fc.option(place, { nil: undefined }) }),
  reverse: fc.boolean(),
  limit: fc.integer({ min: 1, max: places }),
  bytesMax: fc.nat({ max: 600 }),
  decisions: fc.array(decision, { minLength: places, maxLength: places }),
  keepsPrefixes: fc.boolean(),
  turnDeletions: fc.integer({ min: 1, max: 4 }),
});
type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never;

function filterOf({ decisions }: Case): (candidate: Candidate) => Decision {
  return ({ value }) => decisions[value[0] ?? 0] ?? 'take';
}

/** Values tell their place, and differ in length. */
function valueOf(at: number, isChanged: boolean): Uint8Array {
  return Buffer.alloc(isChanged ? 20 : 10 + at, at);
}

async function baseOf({ inBase }: Case) {
  const base = await openMemoryStore({ clock: manualClock() });
  const entries = inBase.map((at) => ({ key: keyAt(at), value: valueOf(at, false), version: 1 }));
  await base.ingest({ entries, deletes: [], floor: 0 });
  return base;
}

function tableOf({ changes }: Case): SortedByKey<Change> {
  const table = new SortedByKey<Change>();
  for (const { at, isGone } of changes) {
    const value = isGone ? undefined : valueOf(at, true);
    table.put({ key: keyAt(at), value, version: 2 });
  }
  return table;
}

function rangeOf({ bounds: { start, end } }: Case): KeyRange {
  return { start: keyAt(start), ...(end !== undefined && { end: keyAt(end) }) };
}

/** A store that has been told of everything. */
async function modelOf(drawn: Case) {
  const model = await baseOf(drawn);
  const gone = drawn.changes.filter(({ isGone }) => isGone).map(({ at }) => keyAt(at));
  const put = drawn.changes.filter(({ isGone }) => !isGone);
  const entries = put.map(({ at }) => ({ key: keyAt(at), value: valueOf(at, true), version: 2 }));
  await model.ingest({ entries, deletes: gone, floor: 0 });
  return model;
}

describe('range over a table before a base', () => {
  it('is the page of a store that was told of everything', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (drawn) => {
        const { limit, bytesMax, reverse, turnDeletions } = drawn;
        const [used, expectedUsed]: [string[], string[]] = [[], []];
        const options = { limit, bytesMax, reverse, filter: filterOf(drawn), use: noteIn(used) };
        const merging = { ...options, turnDeletions };
        const base = await baseOf(drawn);
        const table = tableOf(drawn);
        const read: Store['range'] = (...each) => base.range(...each);
        const page = await mergedRange(read, table, rangeOf(drawn), merging);
        const expected = await (
          await modelOf(drawn)
        ).range(rangeOf(drawn), { ...options, use: noteIn(expectedUsed) });
        assert.deepEqual(plain(page), plain(expected));
        assert.deepEqual(used, expectedUsed);
      }),
      { numRuns: 400 },
    );
  });

  it('goes on behind the last entry where the base ends its pages with a prefix', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (drawn) => {
        const base = withPartitionRule(await baseOf(drawn));
        const table = tableOf(drawn);
        const found: Entry[] = [];
        const isWanted = (candidate: Candidate): Decision =>
          filterOf(drawn)(candidate) === 'skip' ? 'skip' : 'take';
        const options = { ...drawn, filter: isWanted };
        let range = rangeOf(drawn);
        for (;;) {
          const page = await mergedRange((...each) => base.range(...each), table, range, options);
          found.push(...page.entries);
          const last = page.entries.at(-1);
          if (!page.more || last === undefined) break;
          range = behind(range, last.key, drawn.reverse);
        }
        const all = { ...options, limit: places, bytesMax: Infinity };
        const expected = await (await modelOf(drawn)).range(rangeOf(drawn), all);
        assert.deepEqual(plain({ entries: found, more: false }), plain(expected));
      }),
      { numRuns: 400 },
    );
  });

  it('takes a turn where the base has nothing of many deletions', async () => {
    const table = new SortedByKey<Change>();
    for (let at = 0; at < 5_000; at += 1) {
      const key = Buffer.concat([keyAt(0), encodeTuple([at])]);
      table.put({ key, value: undefined, version: 2 });
    }
    const read = () => Promise.resolve({ entries: [], more: false });
    let turns = 0;
    const count = () => {
      turns += 1;
      turn = setImmediate(count);
    };
    let turn = setImmediate(count);
    await mergedRange(read, table, everything, { limit: 1, bytesMax: 1 });
    clearImmediate(turn);
    assert.ok(turns >= 2, `${turns} turns`);
  });

  it('asks the base alone where the table has nothing', async () => {
    const page: RangePage = { entries: [], more: true };
    const read = () => Promise.resolve(page);
    const options = { limit: 1, bytesMax: 1 };
    assert.equal(await mergedRange(read, new SortedByKey(), everything, options), page);
  });
});

function behind(range: KeyRange, key: Uint8Array, reverse: boolean): KeyRange {
  const next = Buffer.concat([key, Buffer.from([0])]);
  return reverse ? { ...range, end: key } : { ...range, start: next };
}

/** What is used, as text, in the order in which it comes. */
function noteIn(used: string[]): (candidate: Candidate) => void {
  return ({ key, value, valueLength, version }) => {
    used.push(textOf({ key, value: value.subarray(0, valueLength), version }));
  };
}

function textOf({ key, value, version }: Entry): string {
  return `${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString('hex')} ${version}`;
}

function plain({ entries, more }: RangePage) {
  return { entries: entries.map(textOf), more };
}
