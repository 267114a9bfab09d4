import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import { compareBytes } from '../../base/bytes.js';
import type { Candidate, KeyRange, RangeOptions, Store, Decision } from '../store.js';
import { keyBytesMax } from '../store.js';
import { keyAfter } from '../tuple.js';
import { bytes, commit, keyIn, keyNamed, nameOf, put, setUp, wholeRange } from './batches.js';
import { besideCommits } from './beside-commits.js';
import type { ConformanceSuite } from './suite.js';

const letters = ['a', 'b', 'c', 'd', 'e'];

/** Ranges: order, bounds, both directions, pages. */
export function rangesConformance(suite: ConformanceSuite): void {
  it('orders keys by unsigned bytes, a prefix first', async (t) => {
    const { store } = await setUp(suite, t);
    const ordered = ['\0', '\0\0', '\0\xff', '\x01', 'A', 'A\0', 'AA', 'B', '\x7f', '\x80', '\xff'];
    const shuffled = ordered.toSorted((left, right) => hash(left) - hash(right));
    for (const key of shuffled) await commit(store, { puts: [put(key)] });
    assert.deepEqual(await read(store, { start: keyNamed('') }), ordered);
    assert.deepEqual(await read(store, { start: keyNamed('') }, true), ordered.toReversed());
  });

  it('includes the start and excludes the end, in both directions', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: letters.map((key) => put(key)) });
    const expected: [string, string | undefined, string][] = [
      ['b', 'd', 'bc'],
      ['b', undefined, 'bcde'],
      ['', 'c', 'ab'],
      ['b\0', 'd\0', 'cd'],
      ['c', 'c', ''],
      ['d', 'b', ''],
      ['f', undefined, ''],
      ['', 'a', ''],
      ['', '', ''],
      ['e', 'z', 'e'],
    ];
    for (const [start, end, keys] of expected) {
      const range = { start: keyNamed(start), ...(end !== undefined && { end: keyNamed(end) }) };
      assert.deepEqual(await read(store, range), keys.split(''), `from ${start} to ${end}`);
      assert.deepEqual(await read(store, range, true), keys.split('').toReversed());
    }
    const none = await store.range({ start: bytes(''), end: bytes('') }, wholeRange);
    assert.deepEqual(none, { entries: [], more: false });
  });

  it('takes bounds that are longer than any key', async (t) => {
    const { store } = await setUp(suite, t);
    const longest = keyNamed('a'.repeat(keyBytesMax - keyNamed('').length));
    const before = longest.subarray(0, keyBytesMax - 1);
    const puts = [before, longest].map((key) => ({ key, value: bytes('') }));
    await commit(store, { puts: [...puts, put('b')] });
    const count = async (range: KeyRange, reverse: boolean) =>
      (await store.range(range, { ...wholeRange, reverse })).entries.length;
    for (const reverse of [false, true]) {
      assert.equal(await count({ start: keyAfter(longest) }, reverse), 1);
      assert.equal(await count({ start: keyNamed('a'), end: keyAfter(longest) }, reverse), 2);
      assert.equal(await count({ start: longest, end: keyAfter(longest) }, reverse), 1);
      assert.equal(await count({ start: longest }, reverse), 2);
      assert.equal(await count({ start: keyNamed('a'), end: longest }, reverse), 1);
    }
  });

  it('says exactly whether more entries follow the last of a page', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: letters.map((key) => put(key)) });
    for (const reverse of [false, true]) {
      for (let limit = 1; limit <= 7; limit += 1) {
        const range = { start: keyNamed('b'), end: keyNamed('e') };
        const page = await store.range(range, { limit, bytesMax: 1_000, reverse });
        assert.equal(page.entries.length, Math.min(limit, 3));
        assert.equal(page.more, limit < 3, `limit ${limit}`);
      }
    }
  });

  it('ends a page before the bytes run over, but never returns an empty one', async (t) => {
    const { store } = await setUp(suite, t);
    const each = keyNamed('a').length + 9;
    await commit(store, { puts: letters.map((key) => put(key, '123456789')) });
    const sizes: [number, number][] = [
      [0, 1],
      [1, 1],
      [each - 1, 1],
      [each, 1],
      [2 * each - 1, 1],
      [2 * each, 2],
      [5 * each - 1, 4],
      [5 * each, 5],
      [5 * each + 1, 5],
    ];
    for (const reverse of [false, true]) {
      for (const [bytesMax, count] of sizes) {
        const page = await store.range({ start: keyNamed('') }, { limit: 100, bytesMax, reverse });
        assert.equal(page.entries.length, count, `${bytesMax} bytes`);
        assert.equal(page.more, count < 5);
      }
    }
  });

  it('leaves out what the filter skips and ends a page where it stops', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: letters.map((key) => put(key, key.repeat(3))) });
    for (const reverse of [false, true]) {
      const ordered = reverse ? letters.toReversed() : letters;
      const seen: unknown[] = [];
      const page = await store.range(
        { start: keyNamed('a') },
        {
          ...wholeRange,
          reverse,
          filter: ({ key, value, valueLength, version }) => {
            const name = nameOf(key);
            seen.push([name, String(Buffer.from(value.subarray(0, valueLength))), version > 0]);
            if (name === ordered[4]) return 'stop';
            return name === ordered[1] ? 'skip' : 'take';
          },
        },
      );
      assert.deepEqual(
        seen,
        ordered.map((key) => [key, key.repeat(3), true]),
      );
      assert.deepEqual(
        page.entries.map(({ key, value }) => [nameOf(key), String(value)]),
        [0, 2, 3].map((index) => [ordered[index], ordered[index]?.repeat(3)]),
      );
      assert.equal(page.more, true);
    }
  });

  it('counts only what is taken towards the bounds of a page', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: letters.map((key) => put(key, '123456789')) });
    const filter = ({ key }: Candidate): Decision => (nameOf(key) === 'd' ? 'take' : 'skip');
    const page = await store.range({ start: keyNamed('a') }, { limit: 1, bytesMax: 10, filter });
    assert.deepEqual(
      page.entries.map(({ key }) => nameOf(key)),
      ['d'],
    );
    assert.equal(page.more, false);
  });

  it('hands over what is to be used, in order and in place, and leaves it out', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: letters.map((key) => put(key, key.repeat(70))) });
    for (const reverse of [false, true]) {
      const ordered = reverse ? letters.toReversed() : letters;
      const used: unknown[] = [];
      const page = await store.range(
        { start: keyNamed('a') },
        {
          ...wholeRange,
          reverse,
          filter: ({ key }) =>
            nameOf(key) === 'c' ? 'take' : nameOf(key) === 'b' ? 'skip' : 'use',
          use: ({ key, value, valueLength, version }) => {
            const text = String(Buffer.from(value.subarray(0, valueLength)));
            used.push([nameOf(key), text, version > 0]);
          },
        },
      );
      assert.deepEqual(
        used,
        ordered.filter((key) => !'bc'.includes(key)).map((key) => [key, key.repeat(70), true]),
      );
      assert.deepEqual(
        page.entries.map(({ key }) => nameOf(key)),
        ['c'],
      );
      assert.equal(page.more, false);
    }
  });

  it('hands keys of every size to the filter', async (t) => {
    const { store } = await setUp(suite, t);
    const restMax = keyBytesMax - keyNamed('').length;
    const names = ['a', 'b', 'bb', 'bc', 'bcd', 'c', 'd'.repeat(restMax), 'e', 'ee', 'f'];
    await commit(store, { puts: names.map((name) => put(name)) });
    for (const reverse of [false, true]) {
      const handed: string[] = [];
      const filter = ({ key }: Candidate): Decision => {
        handed.push(nameOf(key));
        return 'skip';
      };
      await store.range({ start: keyNamed('a') }, { ...wholeRange, reverse, filter });
      assert.deepEqual(handed, reverse ? names.toReversed() : names);
    }
  });

  it('hands values of every size to the filter and keeps what it takes unchanged', async (t) => {
    const { store } = await setUp(suite, t);
    const sizes = [0, 1, 100, 5_000, 70_000, 300_000, 10, 900_000, 3];
    const valueOf = (size: number) => Buffer.alloc(size, size % 251);
    await commit(store, {
      puts: sizes.map((size, index) => ({ key: keyNamed(`k${index}`), value: valueOf(size) })),
    });
    const areIntact: boolean[] = [];
    const filter = ({ value, valueLength }: Candidate): Decision => {
      areIntact.push(valueOf(valueLength).equals(value.subarray(0, valueLength)));
      return 'take';
    };
    const page = await store.range(
      { start: keyNamed('k') },
      { limit: 100, bytesMax: 1 << 24, filter },
    );
    assert.deepEqual(
      areIntact,
      sizes.map(() => true),
    );
    for (const [index, { value }] of page.entries.entries()) {
      assert.ok(valueOf(sizes[index] ?? -1).equals(value), `value ${index}`);
    }
  });

  it('visits every entry once when each page begins behind the one before', async (t) => {
    const { store } = await setUp(suite, t);
    const keys = Array.from({ length: 1_500 }, (_, index) => String(index).padStart(5, '0'));
    await commit(store, { puts: keys.map((key) => put(key)) });
    const options = { limit: 37, bytesMax: 100_000 };
    const all = { start: keyNamed('') };
    const expected = keys.map((name) => String(keyNamed(name)));
    assert.deepEqual(await readPages(store, all, options), expected);
    const backward = await readPages(store, all, { ...options, reverse: true });
    assert.deepEqual(backward, expected.toReversed());
  });

  it('visits the entries of many partitions, where pages may end', async (t) => {
    const { store } = await setUp(suite, t);
    const names = Array.from({ length: 12 }, (_, index) => String.fromCodePoint(97 + index));
    for (const name of names) {
      const puts = letters.map((row) => ({ key: keyIn(name, row), value: bytes(row) }));
      await commit(store, { puts });
    }
    const expected = names.flatMap((name) => letters.map((row) => String(keyIn(name, row))));
    for (const limit of [3, 7, 100]) {
      const options = { limit, bytesMax: 100_000 };
      const all: KeyRange = { start: bytes('') };
      assert.deepEqual(await readPages(store, all, options), expected, `pages of ${limit}`);
      const backward = await readPages(store, all, { ...options, reverse: true });
      assert.deepEqual(backward, expected.toReversed());
    }
  });

  it('never shows a commit half in a page', async (t) => {
    const { store } = await setUp(suite, t);
    for (const key of constant) await commit(store, { puts: [{ key, value: constantValue }] });
    let count = 0;
    const write = () => {
      count += 1;
      return commit(store, { puts: changing.map((name) => put(name, `${count}`)) });
    };
    await write();
    const isChanging = ({ key }: Pick<Candidate, 'key'>) => changing.includes(nameOf(key));
    const filter = (candidate: Candidate): Decision => (isChanging(candidate) ? 'take' : 'skip');
    const forms = [{}, { reverse: true }, { filter }, { filter, reverse: true }];
    for (let round = 0; round < 2; round += 1) {
      for (const form of forms) {
        const options = { ...wholeRange, ...form };
        const page = await besideCommits(write, () =>
          store.range({ start: keyNamed('') }, options),
        );
        const found = page.entries.filter(isChanging);
        assert.equal(found.length, changing.length);
        const states = new Set(found.map(({ value, version }) => `${String(value)} ${version}`));
        assert.equal(states.size, 1, `one commit wrote all, not: ${[...states].join(', ')}`);
      }
    }
  });
}

/** Keys that a commit puts together. */
const changing = ['a', 'c', 'e'];
/**
 * Entries between them that stay as they are, so large that an engine that reads a page in parts
 * of a few MiB begins another part between two of them, in both directions.
 */
const constant = ['b', 'd'].map((name) => keyNamed(name));
const constantValue = Buffer.alloc(2_200_000, 'constant');

async function read(store: Store, range: KeyRange, reverse = false): Promise<string[]> {
  const page = await store.range(range, { ...wholeRange, reverse });
  assert.equal(page.more, false);
  for (const { key } of page.entries) {
    assert.ok(compareBytes(key, range.start) >= 0);
    assert.ok(range.end === undefined || compareBytes(key, range.end) < 0);
  }
  return page.entries.map(({ key }) => nameOf(key));
}

async function readPages(store: Store, all: KeyRange, options: RangeOptions): Promise<string[]> {
  const keys: string[] = [];
  let range = all;
  for (let pages = 0; pages < 1_000; pages += 1) {
    const page = await store.range(range, options);
    keys.push(...page.entries.map(({ key }) => String(key)));
    const last = page.entries.at(-1);
    if (!page.more) return keys;
    assert.ok(last !== undefined, 'a page that is not the last has an entry');
    range = options.reverse === true ? { ...range, end: last.key } : { start: keyAfter(last.key) };
  }
  throw new Error('the pages do not end');
}

function hash(text: string): number {
  return bytes(text).reduce((sum, byte) => (sum * 31 + byte + 7) % 1_009, 3);
}
