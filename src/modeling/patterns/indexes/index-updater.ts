import { sameKey } from '../../rows/row-parts.js';
import { own } from '../../../base/own.js';
import type { Randomness } from '../../../base/randomness.js';
import type { Timers } from '../../../base/async/timers.js';
import type { RowKey } from '../../rows/row.js';
import { updateAttemptsMax } from '../../table/contention.js';
import { ContentionError } from '../../table/errors.js';
import { backOff } from '../../../base/async/back-off.js';
import { backOffs } from '../../table/back-offs.js';
import { sleep } from '../../../base/async/sleep.js';
import { changeListBlob } from '../index-entities/list-blobs.js';
import { planRowListChange } from '../index-entities/row-list.js';
import { listChanges, type ListKeyChange } from './beside-plan.js';
import { matchingWrite } from './copy-match.js';
import { transactIf, unlessConflict, writeIf } from '../../table/conditional-write.js';
import { isCopyEntry, textIn, type CopyEntry, type IndexEntry } from './index-entry.js';
import { IndexValueTakenError } from './index-errors.js';
import type { IndexIntent } from './index-intent.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedIndex, ResolvedLists } from './with-indexes.js';

export interface UpdaterOptions {
  readonly randomness: Randomness;
  readonly timers: Timers;
}

/** The keys at which an intent may have to change each index. */
type Concerned = ReadonlyMap<ResolvedIndex, readonly RowKey[]>;

/**
 * Updates the indexes that are outside of the entity's transaction, whatever happened before and in
 * any order, beside other workers.
 *
 * It reads the entity, makes what the indexes have at the keys of the intent match, and reads the
 * entity again, no older than it is by then; when it has changed, all is repeated. An intent
 * concerns only the keys that the index entry had before and after its change, which every delivery
 * of it knows. So an entry that a worker wrote from an outdated entity, at one of these keys, is
 * corrected by the same worker, or after a crash by the next delivery, before the intent is
 * finished. Entries at other keys belong to the intents of the changes that made them, which wait
 * until then.
 */
export class IndexUpdater {
  readonly #places: IndexPlaces;
  readonly #options: UpdaterOptions;

  constructor(places: IndexPlaces, options: UpdaterOptions) {
    this.#places = places;
    this.#options = options;
  }

  /**
   * Sends two point reads of the entity; for each index of copies a point read and a write for the
   * row of the former value and for that of the new one; for each list a point read, one more when
   * it is long, and a transaction. Throws `IndexValueTakenError` when another entity has the value,
   * after everything else is done.
   */
  async apply(intent: IndexIntent, signal?: AbortSignal): Promise<void> {
    const { key, indexes } = intent;
    const known = this.#places.elsewhere.filter(({ name }) => indexes.includes(name));
    const concerned = new Map(known.map((index) => [index, keysIn(intent, index)]));
    await this.untilDone('an entity', signal, async () => {
      const row = await this.#places.table.get(key);
      const isEntity = row !== undefined && this.#places.codec.matches(row);
      const entries = this.#places.entries(isEntity ? row : undefined);
      if (intent.after === undefined) addFound(concerned, entries);
      const results = await Promise.allSettled(
        known.map((index) => this.#match(index, key, concerned, entries, signal)),
      );
      await this.#places.table.confirm?.(key.partitionKey);
      const again = await this.#places.table.get(key, []);
      if (again?.etag !== row?.etag) return false;
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      return true;
    });
  }

  async #match(
    index: ResolvedIndex,
    primary: RowKey,
    concerned: Concerned,
    entries: ReadonlyMap<ResolvedIndex, readonly IndexEntry[]>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const all = entries.get(index) ?? [];
    const keys = concerned.get(index) ?? [];
    const gone = keys.filter((each) => !all.some((entry) => sameKey(each, entry.key)));
    const wanted = all.filter((entry) => keys.some((each) => sameKey(each, entry.key)));
    if (index.kind === 'list') return this.#matchLists(index, primary, { gone, wanted }, signal);
    const table = this.#places.tableOf(index);
    const match = (key: RowKey, entry: CopyEntry | undefined): Promise<void> =>
      this.untilDone(index.name, signal, async () => {
        const stored = await table.get(key);
        const found = await matchingWrite(this.#places, { index, key, primary, stored, entry });
        if (found !== undefined) return writeIf(table, found.write);
        // A write under an ETag proves what was read; otherwise it may have been outdated.
        if (table.confirm === undefined) return true;
        await table.confirm(key.partitionKey);
        return (await table.get(key, []))?.etag === stored?.etag;
      });
    for (const key of gone) await match(key, undefined);
    const taken: unknown[] = [];
    for (const entry of wanted) {
      if (!isCopyEntry(entry)) continue;
      try {
        await match(entry.key, entry);
      } catch (error) {
        if (!(error instanceof IndexValueTakenError)) throw error;
        taken.push(error);
      }
    }
    if (taken.length > 0) throw taken[0];
  }

  async #matchLists(
    index: ResolvedLists,
    primary: RowKey,
    { gone, wanted }: { readonly gone: readonly RowKey[]; readonly wanted: readonly IndexEntry[] },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const text = textIn(index, primary);
    const lists = listChanges([
      ...gone.map((key) => ({ entry: { index, key, text }, verb: 'remove' as const })),
      ...wanted.map((entry) => ({ entry, verb: 'add' as const })),
    ]);
    for (const list of lists) await this.changeList(index, list, signal);
  }

  /** Changes one list, repeating its reads and its transaction or blob write after conflicts. */
  changeList(
    index: ResolvedLists,
    { key, change }: ListKeyChange,
    signal?: AbortSignal,
  ): Promise<void> {
    if (index.place === 'blob') {
      const blobs = this.#places.blobsOf(index);
      return this.untilDone(index.name, signal, () => changeListBlob(blobs, key.rowKey, change));
    }
    const table = this.#places.tableOf(index);
    return this.untilDone(index.name, signal, async () => {
      const writes = await planRowListChange(table, key, index.layout, change);
      return transactIf(table, writes);
    });
  }

  /**
   * Repeats an attempt until it returns true; a conflict counts as false. Throws `ContentionError`.
   */
  async untilDone(
    what: string,
    signal: AbortSignal | undefined,
    attempt: () => Promise<boolean>,
  ): Promise<void> {
    const { timers, randomness } = this.#options;
    for (let count = 1; count <= updateAttemptsMax; count++) {
      signal?.throwIfAborted();
      if (await unlessConflict(attempt)) return;
      await sleep(timers, backOff(backOffs.contention, count, randomness), signal);
    }
    throw new ContentionError(
      `${this.#places.entity.type}: others changed ${what} at all of ${updateAttemptsMax} attempts`,
    );
  }
}

/** The keys of an index before and after the change of an intent, each once. */
function keysIn({ before, after = {} }: IndexIntent, { name }: ResolvedIndex): RowKey[] {
  const keys: RowKey[] = [];
  for (const key of [...(own(before, name) ?? []), ...(own(after, name) ?? [])]) addKey(keys, key);
  return keys;
}

/** Adds the keys that an intent does not name: those of the entity as it was read in each round. */
function addFound(
  concerned: ReadonlyMap<ResolvedIndex, RowKey[]>,
  entries: ReadonlyMap<ResolvedIndex, readonly IndexEntry[]>,
): void {
  for (const [index, keys] of concerned) {
    for (const { key } of entries.get(index) ?? []) addKey(keys, key);
  }
}

function addKey(keys: RowKey[], key: RowKey): void {
  if (!keys.some((each) => sameKey(each, key))) keys.push(key);
}
