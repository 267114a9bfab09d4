import { equalBytes, nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Candidate, Decision, Entry, KeyRange, Store } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import { isCopied } from './copy-state.js';

/** Small pages: who serves requests does not stop for long. */
const pageOptions = { limit: 256, bytesMax: 1 << 20 } as const;

/** A part of the keys: what the source has there, and what makes the target the same. */
export interface ComparedPart {
  /** Those that belong to a copy. */
  readonly entries: readonly Entry[];
  /** The target lacks them, or has them with another version or value. */
  readonly puts: readonly Entry[];
  /** Only the target has them. */
  readonly deletes: readonly Bytes[];
}

/** Compares two stores, part by part. What is written meanwhile may be seen or not. */
export async function* comparedParts(
  source: Store,
  target: Store,
): AsyncGenerator<ComparedPart, void, void> {
  for (let start: Bytes | undefined = Buffer.alloc(0); start !== undefined;) {
    const page = await source.range({ start }, pageOptions);
    const last = page.entries.at(-1);
    const next: Bytes | undefined = page.more && last ? keyAfter(last.key) : undefined;
    const entries = page.entries.filter(isCopied);
    yield {
      entries,
      ...(await differences({ start, ...(next && { end: next }) }, entries, target)),
    };
    start = next;
  }
}

/** Those of some keys in which two stores differ. */
export async function stillDiffering(
  source: Store,
  target: Store,
  keys: readonly Bytes[],
): Promise<readonly Bytes[]> {
  const differing: Bytes[] = [];
  for (let at = 0; at < keys.length; at += pageOptions.limit) {
    const some = keys.slice(at, at + pageOptions.limit);
    const [left, right] = await Promise.all([source.getMany(some), target.getMany(some)]);
    differing.push(...some.filter((_, place) => !isSame(left[place], right[place])));
  }
  return differing;
}

async function differences(
  part: KeyRange,
  entries: readonly Entry[],
  target: Store,
): Promise<Omit<ComparedPart, 'entries'>> {
  const left = new Map(entries.map((entry) => [nameOfBytes(entry.key), entry]));
  const deletes: Bytes[] = [];
  for (let rest: KeyRange | undefined = part; rest !== undefined;) {
    let last: Bytes | undefined;
    const use = (found: Candidate): void => {
      last = Buffer.from(found.key);
      if (!isCopied({ key: last })) return;
      const name = nameOfBytes(last);
      const wanted = left.get(name);
      if (wanted === undefined) deletes.push(last);
      else if (isSame(wanted, entryOf(found))) left.delete(name);
    };
    const filter = (): Decision => 'use';
    const { more } = await target.range(rest, { limit: 1, bytesMax: 0, filter, use });
    rest = more && last !== undefined ? { ...rest, start: keyAfter(last) } : undefined;
  }
  return { puts: [...left.values()], deletes };
}

function entryOf({ key, value, valueLength, version }: Candidate): Entry {
  return { key, value: value.subarray(0, valueLength), version };
}

function isSame(left: Entry | undefined, right: Entry | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return left.version === right.version && equalBytes(left.value, right.value);
}
