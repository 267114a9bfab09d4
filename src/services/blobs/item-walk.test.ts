import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { byUnits, namePiece, namesOf } from '../../../test/support/blob-names.js';
import { byLength } from '../../../test/support/run-length.js';
import { manualClock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Store } from '../../kv/store.js';
import { containerPrefix } from '../containers/keys.js';
import { encodeBlobRecord, newBlobDraft, type BlobDraft } from './blob-record.js';
import { walkItems, type WalkBudget } from './item-walk.js';
import { BlobKeys, dueHintKey, tagHintKey } from './keys.js';
import type { ListPosition, ListSelection } from './types.js';

// Lists of random containers against plain arrays. A failure prints its seed and the shortest
// container that fails.

interface Blob {
  readonly state: 'committed' | 'uncommitted' | 'deleted' | 'absent';
  /** By their times. */
  readonly versions: readonly { readonly micros: number; readonly isDeleted: boolean }[];
  readonly blocks: number;
}

const container = containerPrefix('blob', 'acct', 7);
const nothing = Buffer.alloc(0);

/** Parts of names that meet each other, delimiters and prefixes often. */
const part = fc.constantFrom(
  'a',
  'A',
  'b',
  'ab',
  '/',
  '//',
  ' ',
  '.',
  '%',
  'é',
  '\0',
  '\x01',
  '\uffff',
  '\ufffe',
  '\ud83d',
  '\ud83d\ude00',
  '\ud83e\udd14',
);
const text = (least: number) =>
  fc.array(part, { minLength: least, maxLength: 4 }).map((parts) => parts.join(''));
const version = fc.record({ micros: fc.integer({ min: 1, max: 6 }), isDeleted: fc.boolean() });
const blob: fc.Arbitrary<Blob> = fc.record({
  state: fc.constantFrom('committed', 'committed', 'committed', 'uncommitted', 'deleted', 'absent'),
  versions: fc
    .uniqueArray(version, { selector: ({ micros }) => micros, maxLength: 4 })
    .map((found) => found.toSorted((left, right) => left.micros - right.micros)),
  blocks: fc.constantFrom(0, 0, 1, 12),
});
const worldOf = (name: fc.Arbitrary<string>): fc.Arbitrary<ReadonlyMap<string, Blob>> =>
  fc.array(fc.tuple(name, blob), { maxLength: 25 }).map((named) => new Map(named));
const selectionOf = (
  prefix: fc.Arbitrary<string>,
  delimiter: fc.Arbitrary<string>,
): fc.Arbitrary<ListSelection> =>
  fc.record(
    {
      prefix,
      delimiter,
      snapshots: fc.boolean(),
      uncommitted: fc.boolean(),
      deleted: fc.boolean(),
    },
    { requiredKeys: ['snapshots', 'uncommitted', 'deleted'] },
  );
const world = worldOf(text(1));
const selection = selectionOf(text(0), text(1));

/** A container with legal names that have parts in common, up to the longest, and a selection. */
const anyNames = fc.array(namePiece, { minLength: 1, maxLength: 6 }).chain((pieces) => {
  const some = fc.constantFrom(...pieces);
  const { name, beginning } = namesOf(pieces);
  const prefix = fc.oneof(some, beginning);
  return fc.tuple(worldOf(name), selectionOf(prefix, fc.oneof(fc.constant('/'), some)));
});

/** The content of a list, one line for each item. */
function expected(blobs: ReadonlyMap<string, Blob>, wanted: ListSelection): string[] {
  const { prefix = '', delimiter, snapshots, uncommitted, deleted } = wanted;
  const lines: string[] = [];
  for (const name of [...blobs.keys()].toSorted(byUnits)) {
    const found = blobs.get(name);
    if (found === undefined || !name.startsWith(prefix)) continue;
    const shown = found.versions.filter(({ isDeleted }) => snapshots && (deleted || !isDeleted));
    const own = shown.map(({ micros }) => `${name}@${micros}`);
    const isShown =
      found.state === 'committed' ||
      (found.state === 'uncommitted' && uncommitted) ||
      (found.state === 'deleted' && deleted);
    if (isShown) own.push(name);
    const at = delimiter === undefined ? -1 : name.indexOf(delimiter, prefix.length);
    if (at < 0) lines.push(...own);
    else if (own.length > 0) lines.push(`${name.slice(0, at + (delimiter?.length ?? 0))}>`);
  }
  return [...new Set(lines)];
}

async function storeOf(blobs: ReadonlyMap<string, Blob>): Promise<Store> {
  const store = withPartitionRule(await openMemoryStore({ clock: manualClock(1) }));
  const hint = [tagHintKey(container, 'k', 'v', 'a'), dueHintKey(container, 5, 'a')];
  await put(store, new Map(hint.map((key) => [key, nothing])));
  for (const [name, found] of blobs) await put(store, entriesOf(name, found));
  return store;
}

function entriesOf(name: string, { state, versions, blocks }: Blob): Map<Uint8Array, Uint8Array> {
  const keys = new BlobKeys(container, name);
  const entries = new Map<Uint8Array, Uint8Array>();
  if (state !== 'absent') {
    const base = state === 'uncommitted' ? { state } : { deleted: deletedOf(state === 'deleted') };
    entries.set(keys.base, recordWith(base));
  }
  for (const { micros, isDeleted } of versions) {
    entries.set(keys.version(micros), recordWith({ deleted: deletedOf(isDeleted) }));
  }
  const stage = Buffer.alloc(12);
  for (let block = 0; block < blocks; block += 1) {
    entries.set(keys.block(stage, Buffer.from([block])), nothing);
  }
  return entries;
}

function deletedOf(isDeleted: boolean): BlobDraft['deleted'] {
  return isDeleted ? { micros: 5, purgedMicros: 50 } : undefined;
}

function recordWith(fields: Partial<BlobDraft>): Uint8Array {
  return encodeBlobRecord({ ...newBlobDraft('block'), ...fields });
}

async function put(store: Store, entries: ReadonlyMap<Uint8Array, Uint8Array>): Promise<void> {
  const puts = [...entries].map(([key, value]) => ({ key, value }));
  const result = await store.commit({ checks: [], puts, deletes: [] });
  assert.ok(result.ok);
}

interface Listed {
  readonly lines: readonly string[];
  readonly pages: number;
}

async function listAll(
  store: Store,
  wanted: ListSelection,
  budgetOf: () => Partial<WalkBudget>,
): Promise<Listed> {
  const lines: string[] = [];
  let from: ListPosition | undefined;
  for (let pages = 1; ; pages += 1) {
    assert.ok(pages < 1000, 'the list comes to an end');
    const budget = { limit: 5000, bytesMax: 1 << 20, timeMsMax: 5000, ...budgetOf() };
    const query = from === undefined ? wanted : { ...wanted, from };
    const { items, next } = await walkItems(
      { store, clock: manualClock(1) },
      container,
      query,
      budget,
    );
    assert.ok(items.length <= budget.limit);
    for (const item of items) {
      if (item.kind === 'version') lines.push(`${item.name}@${item.micros}`);
      else lines.push(item.kind === 'prefix' ? `${item.name}>` : item.name);
    }
    if (next === undefined) return { lines, pages };
    from = next;
  }
}

describe('a walk of the items of a container', () => {
  it('finds, page by page, what a plain array has', async () => {
    const limits = fc.infiniteStream(fc.integer({ min: 1, max: 4 }));
    const model = fc.asyncProperty(world, selection, limits, async (blobs, wanted, sizes) => {
      const store = await storeOf(blobs);
      const lines = expected(blobs, wanted);
      const sized = await listAll(store, wanted, () => ({ limit: sizes.next().value ?? 1 }));
      assert.deepEqual(sized.lines, lines);
      assert.deepEqual((await listAll(store, wanted, () => ({}))).lines, lines);
    });
    await fc.assert(model, { numRuns: 100 });
  });

  it('has any legal names in the order of their UTF-16 code units', async () => {
    const model = fc.asyncProperty(anyNames, fc.nat(8), async ([blobs, wanted], more) => {
      const store = await storeOf(blobs);
      const { lines } = await listAll(store, wanted, () => ({ limit: 1 + more }));
      assert.deepEqual(lines, expected(blobs, wanted));
    });
    await fc.assert(model, { numRuns: byLength({ short: 60, long: 5000 }) });
  });

  it('goes on where the bytes or the time of a page were over', async () => {
    const model = fc.asyncProperty(world, selection, async (blobs, wanted) => {
      const store = await storeOf(blobs);
      const lines = expected(blobs, wanted);
      assert.deepEqual((await listAll(store, wanted, () => ({ bytesMax: 1 }))).lines, lines);
      assert.deepEqual((await listAll(store, wanted, () => ({ timeMsMax: 0 }))).lines, lines);
    });
    await fc.assert(model, { numRuns: 100 });
  });

  it('ends exactly when nothing is left', async () => {
    const store = await storeOf(new Map(['a', 'b', 'c', 'd'].map((name) => [name, plain])));
    const { pages } = await listAll(store, live, () => ({ limit: 2 }));
    assert.equal(pages, 2);
  });

  it('costs one seek for a blob with many blocks, and one for a group of many blobs', async () => {
    const many = Array.from({ length: 3000 }, (_, index) => [`dir/${index}`, plain] as const);
    const blobs = new Map([['a', { ...plain, blocks: 250 }], ['b', plain], ...many, ['e', plain]]);
    const store = await storeOf(blobs);
    let visited = 0;
    let reads = 0;
    const counting: Store = {
      ...store,
      range(range, options) {
        reads += 1;
        const { filter = () => 'take' } = options;
        return store.range(range, {
          ...options,
          filter: (candidate) => {
            visited += 1;
            return filter(candidate);
          },
        });
      },
    };
    const { lines } = await listAll(counting, { ...live, delimiter: '/' }, () => ({}));
    assert.deepEqual(lines, ['a', 'b', 'dir/>', 'e']);
    // The store ends reads at the end of a partition as well.
    assert.ok(reads <= 6, `${reads} reads`);
    assert.ok(visited < 40, `${visited} entries visited`);
  });
});

const live: ListSelection = { snapshots: false, uncommitted: false, deleted: false };
const plain: Blob = { state: 'committed', versions: [], blocks: 0 };
