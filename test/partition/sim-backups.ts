import type { MemoryStore } from '../../src/engines/memory/store.js';
import type { RangeRow } from '../../src/partition/rows.js';
import { sharedPart, dataOf } from '../../src/partition/range-map.js';
import { prefixRange } from '../../src/kv/tuple.js';
import { cellsOf, placesIn } from './client.js';
import { prefixes, type Histories } from './histories.js';

/**
 * Notes a backup as what it has to be: a read of all partitions of the range while writes were
 * paused. `fencedAt`: when the last pause was asked for.
 */
export async function noteBackup(
  histories: Histories,
  copy: MemoryStore,
  { range, fencedAt }: { readonly range: RangeRow; readonly fencedAt: number },
): Promise<void> {
  for (const [prefix, bytes] of prefixes.entries()) {
    if (sharedPart(prefixRange(bytes), dataOf(range)) === undefined) continue;
    const asked = placesIn(prefix);
    const entries = await copy.getMany(asked.map(({ key }) => key));
    const cells = cellsOf(asked, entries);
    const names = asked.map(({ name }) => name);
    histories.record(prefix, fencedAt, { kind: 'read', names }, { kind: 'read', cells });
  }
}
