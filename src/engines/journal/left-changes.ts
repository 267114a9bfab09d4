import { compareBytes } from '../../base/bytes.js';
import type { Entry } from '../../kv/store.js';
import type { FoundFrame } from './frame.js';
import type { Change } from './frame-change.js';

/** The last change of each key in the frames, in key order. */
export function lastChanges(frames: readonly FoundFrame[]): readonly Change[] {
  const byName = new Map<string, Change>();
  for (const { changes } of frames) for (const change of changes) byName.set(change.name, change);
  return [...byName.values()].sort((left, right) => compareBytes(left.key, right.key));
}

/** The entries of a base after the changes. Both are in key order. */
export function* withChanges(
  pages: Iterable<readonly Entry[]>,
  changes: readonly Change[],
): Generator<readonly Entry[], void, void> {
  let next = 0;
  const upTo = (entry: Entry | undefined): Entry[] => {
    const puts: Entry[] = [];
    for (let change = changes[next]; change !== undefined; change = changes[next]) {
      if (entry !== undefined && compareBytes(change.key, entry.key) > 0) break;
      next += 1;
      const { key, value, version } = change;
      if (value !== undefined) puts.push({ key, value, version });
    }
    return puts;
  };
  const isChanged = ({ key }: Entry): boolean => {
    const last = changes[next - 1];
    return last !== undefined && compareBytes(last.key, key) === 0;
  };
  for (const page of pages) {
    const entries: Entry[] = [];
    for (const entry of page) {
      entries.push(...upTo(entry));
      if (!isChanged(entry)) entries.push(entry);
    }
    yield entries;
  }
  yield upTo(undefined);
}
