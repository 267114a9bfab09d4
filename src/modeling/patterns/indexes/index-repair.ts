import { unreachable } from '../../../base/invariant.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { DecodeError } from '../../table/errors.js';
import type { RowWrite } from '../../table/gateway.js';
import { planRowListChange } from '../index-entities/row-list.js';
import { transactIf } from '../../table/conditional-write.js';
import { matchingWrite } from './copy-match.js';
import { isCopyEntry, textIn } from './index-entry.js';
import type { Candidate } from './index-drift.js';
import { IndexValueTakenError } from './index-errors.js';
import type { IndexPlaces } from './index-places.js';
import type { IndexUpdater } from './index-updater.js';
import type { ResolvedCopies, ResolvedLists } from './with-indexes.js';

/**
 * Makes an index row at a key agree with its entity. Safe beside writers: every write is
 * conditional on the state that it was derived from.
 *
 * When the index is in the entity's partition, a missing row is inserted in one transaction with an
 * empty merge of the entity, which changes its ETag: so a writer that has read the entity before
 * cannot change it without the new row.
 */
export class IndexRepair {
  readonly #places: IndexPlaces;
  readonly #updater: IndexUpdater;

  constructor(places: IndexPlaces, updater: IndexUpdater) {
    this.#places = places;
    this.#updater = updater;
  }

  /** False when only other values, or another definition, can repair it. */
  async repair({ index, primary, key }: Candidate): Promise<boolean> {
    try {
      if (index.place === 'same-partition') await this.#repairBeside({ index, primary, key });
      else {
        const before = { [index.name]: [key] };
        await this.#updater.apply({ key: primary, indexes: [index.name], before, after: {} });
      }
      return true;
    } catch (error) {
      if (error instanceof IndexValueTakenError || error instanceof DecodeError) return false;
      throw error;
    }
  }

  #repairBeside({ index, primary, key }: Candidate): Promise<void> {
    switch (index.kind) {
      case 'copy':
        return this.#updater.untilDone(index.name, undefined, () =>
          this.#repairCopy(index, primary, key),
        );
      case 'list':
        return this.#updater.untilDone(index.name, undefined, () =>
          this.#repairList(index, primary, key),
        );
      default:
        return unreachable(index);
    }
  }

  /** Reads the index row before the entity: a writer in between makes the write fail. */
  async #repairCopy(index: ResolvedCopies, primary: RowKey, key: RowKey): Promise<boolean> {
    const { table } = this.#places;
    const stored = await table.get(key);
    const row = await this.#places.primary(primary);
    const entry = this.#places.entryAt(index, row, key);
    const wanted = entry !== undefined && isCopyEntry(entry) ? entry : undefined;
    const found = await matchingWrite(this.#places, {
      index,
      key,
      primary,
      stored,
      entry: wanted,
    });
    if (found === undefined) return true;
    const { write, claims } = found;
    return transactIf(table, claims && row !== undefined ? [touch(row), write] : [write]);
  }

  async #repairList(index: ResolvedLists, primary: RowKey, key: RowKey): Promise<boolean> {
    const { table } = this.#places;
    const text = textIn(index, primary);
    const removal = await planRowListChange(table, key, index.layout, { add: [], remove: [text] });
    const row = await this.#places.primary(primary);
    const entry = this.#places.entryAt(index, row, key);
    if (row === undefined || entry === undefined) {
      return transactIf(table, removal);
    }
    const addition = await planRowListChange(table, key, index.layout, { add: [text], remove: [] });
    return addition.length === 0 || transactIf(table, [touch(row), ...addition]);
  }
}

/** Changes only the ETag of an entity, provided that it is unchanged. */
export function touch({ partitionKey, rowKey, etag }: StoredRow): RowWrite {
  return { kind: 'merge', row: { partitionKey, rowKey, properties: {} }, etag };
}
