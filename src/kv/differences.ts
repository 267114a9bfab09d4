import { compareBytes, equalBytes, type Bytes } from '../base/bytes.js';
import { inParts, type SizedKey } from './sized-keys.js';
import type { Candidate, Entry, KeyRange, RangeOptions, RangePage } from './store.js';
import { keyAfter } from './tuple.js';

/** The limits of one call, as far as the sizes of values are known. */
const askedAtOnce = { keysMax: 256, bytesMax: 1 << 20 } as const;

/** Reads of one of two stores, with the guard that they need there. */
export interface ComparedStore {
  readonly range: (range: KeyRange, options: RangeOptions) => Promise<RangePage>;
  readonly getMany: (keys: readonly Bytes[]) => Promise<readonly (Entry | undefined)[]>;
}

/** A part of the keys: the entries of the source, and the changes that make the target equal. */
export interface ComparedPart {
  readonly entries: readonly Entry[];
  /** Entries that the target lacks, or has with another version or value. */
  readonly puts: readonly Entry[];
  /** Keys that only the target has. */
  readonly deletes: readonly Bytes[];
  /** The keys of both, with the larger one of two values. */
  readonly differing: readonly SizedKey[];
}

export interface Comparison {
  readonly range: KeyRange;
  /** The bounds of a part. */
  readonly page: Pick<RangeOptions, 'limit' | 'bytesMax'>;
  /** Keys for which it is false do not count. Default: all count. */
  readonly isCompared?: (entry: { readonly key: Bytes }) => boolean;
}

/** Compares two stores, part by part. Concurrent writes may be seen or not. */
export async function* comparedParts(
  source: ComparedStore,
  target: ComparedStore,
  { range, page, isCompared = () => true }: Comparison,
): AsyncGenerator<ComparedPart, void, void> {
  for (let rest: KeyRange | undefined = range; rest !== undefined;) {
    const found = await source.range(rest, page);
    const last = found.more ? found.entries.at(-1) : undefined;
    const next: Bytes | undefined = last && keyAfter(last.key);
    const end = next ?? rest.end;
    const part: KeyRange = { start: rest.start, ...(end && { end }) };
    const entries = found.entries.filter(isCompared);
    yield { entries, ...(await differences(part, entries, { target, isCompared })) };
    rest = next && { ...range, start: next };
  }
}

/** Both stores have their keys in order. */
async function differences(
  part: KeyRange,
  entries: readonly Entry[],
  { target, isCompared }: { target: ComparedStore } & Required<Pick<Comparison, 'isCompared'>>,
): Promise<Omit<ComparedPart, 'entries'>> {
  const puts: Entry[] = [];
  const deletes: Bytes[] = [];
  const differing: SizedKey[] = [];
  const put = (entry: Entry, bytes = 0): void => {
    puts.push(entry);
    differing.push({ key: entry.key, valueBytes: Math.max(entry.value.length, bytes) });
  };
  let at = 0;
  for (let rest: KeyRange | undefined = part; rest !== undefined;) {
    let last: Bytes | undefined;
    const use = (found: Candidate): void => {
      last = Buffer.from(found.key);
      let expected = entries[at];
      while (expected !== undefined && compareBytes(expected.key, last) < 0) {
        put(expected);
        at += 1;
        expected = entries[at];
      }
      if (expected === undefined || !equalBytes(expected.key, last)) {
        deletes.push(last);
        differing.push({ key: last, valueBytes: found.valueLength });
        return;
      }
      at += 1;
      const value = found.value.subarray(0, found.valueLength);
      if (isSame(expected, { key: last, value, version: found.version })) return;
      put(expected, found.valueLength);
    };
    const filter = (found: Candidate) => (isCompared(found) ? 'use' : 'skip');
    const { more } = await target.range(rest, { limit: 1, bytesMax: 0, filter, use });
    rest = more && last !== undefined ? { ...rest, start: keyAfter(last) } : undefined;
  }
  for (const lacking of entries.slice(at)) put(lacking);
  return { puts, deletes, differing };
}

/**
 * Reads some keys again and returns those in which two stores differ, in parts of a mebibyte:
 * values that have grown since make theirs larger.
 */
export async function stillDiffering(
  source: ComparedStore,
  target: ComparedStore,
  keys: readonly SizedKey[],
): Promise<readonly SizedKey[]> {
  const differing: SizedKey[] = [];
  for (const part of inParts(keys, askedAtOnce)) {
    const some = part.map(({ key }) => key);
    const [left, right] = await Promise.all([source.getMany(some), target.getMany(some)]);
    for (const [place, key] of some.entries()) {
      const [one, other] = [left[place], right[place]];
      if (isSame(one, other)) continue;
      differing.push({ key, valueBytes: Math.max(bytesOf(one), bytesOf(other)) });
    }
  }
  return differing;
}

function bytesOf(entry: Entry | undefined): number {
  return entry?.value.length ?? 0;
}

function isSame(left: Entry | undefined, right: Entry | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return left.version === right.version && equalBytes(left.value, right.value);
}
