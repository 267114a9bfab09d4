import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimRandom } from '../../../test/support/sim-random.js';
import type { SortedByKey } from '../../base/sorted-by-key.js';
import { encodeFrame } from './frame.js';
import type { Change, FrameChange } from './frame-change.js';
import { MemoryTable } from './memory-table.js';
import { deferred } from '../../base/async/deferred.js';

const key = Buffer.from('key');
const start = Buffer.alloc(0);
const value = Buffer.from('value');
const portion = { sequenceMax: 10, entriesMax: 10, bytesMax: 10_000 };
const put = (version: number, of = key) => written({ key: of, value, version });
const gone = (version: number) => written({ key, value: undefined, version });

/** As a frame has it. */
function written(change: Change): FrameChange {
  const frame = { kind: 'changes', sequence: 1, lastVersion: 0, changes: [change] } as const;
  const [only] = encodeFrame(frame, 0).changes;
  assert.ok(only !== undefined);
  return only;
}

describe('table of what the base lacks', () => {
  it('has nothing of what was put and deleted before the base was told', () => {
    const table = new MemoryTable();
    table.apply(put(1), 1, true);
    table.apply(gone(2), 2, false);
    assert.equal(table.get(key), undefined);
    assert.deepEqual([table.count, table.bytes], [0, 0]);
  });

  it('keeps the deletion of what the base has, or is being told', () => {
    const inBase = new MemoryTable();
    inBase.apply(gone(1), 1, false);
    inBase.apply(put(2), 2, true);
    inBase.apply(gone(3), 3, false);
    assert.equal(inBase.get(key)?.version, 3);
    const told = new MemoryTable();
    told.apply(put(1), 1, true);
    assert.equal(told.take(start, portion).entries.length, 1);
    told.apply(gone(2), 2, false);
    assert.equal(told.get(key)?.version, 2);
  });

  it('forgets what the base was told, but for what changed since', () => {
    const table = new MemoryTable();
    table.apply(put(1), 1, true);
    const other = Buffer.from('other');
    table.apply(put(1, other), 1, true);
    const { entries } = table.take(start, portion);
    table.apply(put(2), 2, false);
    table.settle(entries);
    assert.equal(table.get(key)?.version, 2);
    assert.equal(table.get(other), undefined);
    assert.equal(table.count, 1);
  });

  it('gives portions in key order, and nothing of later frames', () => {
    const table = new MemoryTable();
    for (let index = 0; index < 9; index += 1) {
      table.apply(put(1, Buffer.from([index])), index, true);
    }
    const taken: number[] = [];
    const small = { sequenceMax: 6, entriesMax: 3, bytesMax: 10_000 };
    for (let next: Uint8Array | undefined = start; next !== undefined;) {
      const part = table.take(next, small);
      assert.ok(part.entries.length <= 3);
      taken.push(...part.entries.map((entry) => entry.key[0] ?? -1));
      next = part.next;
    }
    assert.deepEqual(taken, [0, 1, 2, 3, 4, 5, 6]);
    assert.equal(table.take(start, { ...portion, bytesMax: 1 }).entries.length, 1);
  });

  it('shows a read what it had when the read began', async () => {
    const table = new MemoryTable();
    const versions = (entries: Iterable<Change>) => [...entries].map(({ version }) => version);
    table.apply(put(1), 1, true);
    const { promise: ended, resolve: end } = deferred();
    const seen: number[][] = [];
    const look = async (entries: SortedByKey<Change>) => {
      await ended;
      seen.push(versions(entries.forward({ start })));
    };
    const reads = [table.during(look), table.during(look)];
    table.apply(put(2), 2, false);
    await table.during(async (entries) => {
      table.settle(table.take(start, portion).entries);
      seen.push(versions(entries.forward({ start })));
    });
    end();
    await Promise.all(reads);
    assert.deepEqual(seen, [[2], [1], [1]]);
    await table.during(async (entries) =>
      assert.deepEqual(versions(entries.forward({ start })), []),
    );
  });

  it('is filled as if one frame was applied after the other, whatever the base has', () => {
    const random = new SimRandom(5);
    const [filled, applied] = [new MemoryTable(), new MemoryTable()];
    const found = Array.from({ length: 40 }, (_, sequence) => {
      const asked = Array.from({ length: random.int(60) }, (__, index) => ({
        key: Buffer.from([random.int(256), random.int(6)]),
        value: random.chance(0.3) ? undefined : Buffer.alloc(random.int(9)),
        version: 100 * sequence + index,
      }));
      const head = { kind: 'changes', sequence, lastVersion: 0 } as const;
      const { changes, bytes } = encodeFrame({ ...head, changes: asked }, 0);
      return { ...head, changes, bytes: bytes.length };
    });
    filled.fill(found);
    for (const { changes, sequence } of found) {
      for (const change of changes) applied.apply(change, sequence, false);
    }
    for (const table of [filled, applied]) table.hide(key);
    const all = { sequenceMax: 100, entriesMax: 10_000, bytesMax: Infinity };
    assert.ok(applied.count > 700, `${applied.count}`);
    assert.deepEqual([filled.count, filled.bytes], [applied.count, applied.bytes]);
    assert.deepEqual(filled.take(start, all), applied.take(start, all));
  });

  it('never gives away what it hides', () => {
    const table = new MemoryTable();
    table.hide(key);
    assert.equal(table.get(key)?.value, undefined);
    assert.equal(table.take(start, portion).entries.length, 0);
    assert.equal(table.count, 0);
  });
});
