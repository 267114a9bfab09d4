import { own } from '../../../base/own.js';
import type { Randomness } from '../../../base/randomness.js';
import type { Timers } from '../../../base/async/timers.js';
import type { RowKey } from '../../rows/row.js';
import { ContentionError } from '../../table/errors.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { backOff } from '../../../base/async/back-off.js';
import { sleep } from '../../../base/async/sleep.js';
import { changeListBlob } from '../index-entities/list-blobs.js';
import { planRowListChange } from '../index-entities/row-list.js';
import { listChanges, type ListKeyChange } from './beside-plan.js';
import { transactIf, unlessConflict, writeIf } from './conditional-write.js';
import {
  isCopyEntry,
  primaryOf,
  sameKey,
  staleNames,
  textIn,
  type CopyEntry,
  type IndexEntry,
} from './index-entry.js';
import { IndexValueTakenError } from './index-errors.js';
import type { IndexIntent } from './index-intent.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedCopies, ResolvedIndex, ResolvedLists } from './with-indexes.js';

export interface UpdaterOptions {
  readonly randomness: Randomness;
  readonly timers: Timers;
}

const attemptsMax = 64;
const contention = { first: 4, last: 250 };

/**
 * Updates the indexes that are outside of the entity's transaction, whatever happened before and in
 * any order.
 *
 * It reads the entity, makes the index rows match, and reads the entity again; when it has changed,
 * all is repeated. An index row made from an outdated version is corrected, because the writer that
 * made it has not finished, and an unfinished intent is repeated.
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
   * current row and for the former one; for each list a point read, one more when it is long, and a
   * transaction. Throws `IndexValueTakenError` when another entity has the value, after everything
   * else is done.
   */
  async apply({ key, indexes, before }: IndexIntent, signal?: AbortSignal): Promise<void> {
    const known = this.#places.elsewhere.filter(({ name }) => indexes.includes(name));
    await this.untilDone('an entity', signal, async () => {
      const row = await this.#places.table.get(key);
      const isEntity = row !== undefined && this.#places.codec.matches(row);
      const entries = this.#places.entries(isEntity ? row : undefined);
      const results = await Promise.allSettled(
        known.map((index) =>
          this.#match(
            index,
            key,
            { had: own(before, index.name), entry: entries.get(index) },
            signal,
          ),
        ),
      );
      const again = await this.#places.table.get(key, []);
      if (again?.etag !== row?.etag) return false;
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      return true;
    });
  }

  #match(
    index: ResolvedIndex,
    primary: RowKey,
    { had, entry }: { readonly had: RowKey | undefined; readonly entry: IndexEntry | undefined },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    return index.kind === 'list'
      ? this.#matchLists(index, primary, { had, entry }, signal)
      : this.#matchCopies(index, primary, { had, entry }, signal);
  }

  async #matchCopies(
    index: ResolvedCopies,
    primary: RowKey,
    { had, entry }: { readonly had: RowKey | undefined; readonly entry: IndexEntry | undefined },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const table = this.#places.tableOf(index);
    if (had !== undefined && (entry === undefined || !sameKey(had, entry.key))) {
      await this.untilDone(index.name, signal, () => removeCopy(table, index, had, primary));
    }
    if (entry === undefined || !isCopyEntry(entry)) return;
    await this.untilDone(index.name, signal, () => this.#putCopy(table, entry, primary));
  }

  async #putCopy(table: TableGateway, entry: CopyEntry, primary: RowKey): Promise<boolean> {
    const { index, key, row } = entry;
    const stored = await table.get(key);
    if (stored === undefined) return writeIf(table, { kind: 'insert', row });
    const owner = primaryOf(index, stored);
    const replacement: RowWrite = { kind: 'replace', row, etag: stored.etag };
    if (owner !== undefined && sameKey(owner, primary)) {
      return staleNames(entry, stored).length === 0 || writeIf(table, replacement);
    }
    if (owner === undefined || (await this.wants(index, owner, key))) {
      throw new IndexValueTakenError(index.name, key);
    }
    return writeIf(table, replacement);
  }

  /** Whether an entity should have the index row at a key. */
  async wants(index: ResolvedIndex, owner: RowKey, key: RowKey): Promise<boolean> {
    const entry = this.#places.entryOf(index, await this.#places.primary(owner));
    return entry !== undefined && sameKey(entry.key, key);
  }

  async #matchLists(
    index: ResolvedLists,
    primary: RowKey,
    { had, entry }: { readonly had: RowKey | undefined; readonly entry: IndexEntry | undefined },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const text = textIn(index, primary);
    const gone = had === undefined ? undefined : { index, key: had, text };
    const lists = listChanges([
      { entry: gone, verb: 'remove' },
      { entry, verb: 'add' },
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
    for (let count = 1; count <= attemptsMax; count++) {
      signal?.throwIfAborted();
      if (await unlessConflict(attempt)) return;
      await sleep(timers, backOff(contention, count, randomness), signal);
    }
    throw new ContentionError(
      `${this.#places.entity.type}: others changed ${what} at all of ${attemptsMax} attempts`,
    );
  }
}

async function removeCopy(
  table: TableGateway,
  index: ResolvedCopies,
  key: RowKey,
  primary: RowKey,
): Promise<boolean> {
  const stored = await table.get(key);
  const owner = stored === undefined ? undefined : primaryOf(index, stored);
  if (stored === undefined || owner === undefined || !sameKey(owner, primary)) return true;
  return writeIf(table, { kind: 'delete', key, etag: stored.etag });
}
