import { sameKey } from '../../rows/row-parts.js';
import { withEncryptedNames } from '../../table/encrypted-names.js';
import { isOutdated } from '../../definition/row-version.js';
import { own } from '../../../base/own.js';
import { codecOf, type EntityCodec } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { Stored } from '../../definition/stored-entity.js';
import { DefinitionError, ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import type { TableGateway } from '../../table/gateway.js';
import type { ListBlobs } from '../index-entities/list-blobs.js';
import { entriesOf, isCopyEntry, type IndexEntry } from './index-entry.js';
import type { ResolvedIndex } from './with-indexes.js';

/** A definition with its indexes, and the tables and blobs of their rows. */
export class IndexPlaces {
  readonly entity: AnyDefinition;
  readonly codec: EntityCodec<AnyDefinition>;
  readonly indexes: readonly ResolvedIndex[];
  /** The table of the entities, and of the indexes without a table of their own. */
  readonly table: TableGateway;
  readonly #tables: Readonly<Record<string, TableGateway | undefined>>;
  readonly #blobs: Readonly<Record<string, ListBlobs | undefined>>;

  /** Throws `DefinitionError` for an index whose table or blobs are not given. */
  constructor(
    { entity, indexes }: { entity: AnyDefinition; indexes: readonly ResolvedIndex[] },
    places: {
      readonly table: TableGateway;
      readonly tables?: Readonly<Record<string, TableGateway | undefined>> | undefined;
      readonly blobs?: Readonly<Record<string, ListBlobs | undefined>> | undefined;
    },
  ) {
    this.entity = entity;
    this.codec = codecOf(entity);
    this.indexes = indexes;
    this.table = places.table;
    this.#tables = places.tables ?? {};
    this.#blobs = places.blobs ?? {};
    for (const index of indexes) {
      if (index.place === 'blob') this.blobsOf(index);
      else this.#refusePlain(index, encryptedNames(index.definition), DefinitionError);
    }
  }

  /** Throws `ValueError` when an entry would be stored in plain where its entity is not. */
  refusePlain(entries: readonly (IndexEntry | undefined)[]): void {
    for (const entry of entries) {
      if (entry === undefined || !isCopyEntry(entry)) continue;
      this.#refusePlain(entry.index, entry.row.encrypt ?? [], ValueError);
    }
  }

  #refusePlain(
    index: ResolvedIndex,
    names: readonly string[],
    Refusal: typeof DefinitionError | typeof ValueError,
  ): void {
    const { encrypts } = this.tableOf(index);
    if (index.place !== 'other-table' || names.length === 0 || encrypts !== undefined) return;
    throw new Refusal(
      `the index '${index.name}' copies '${names.join("', '")}', which is encrypted, into a table ` +
        'that is not: open that table withEncryption, or choose with include what is copied',
    );
  }

  /** The indexes that change in the transaction of the entity. */
  get beside(): readonly ResolvedIndex[] {
    return this.indexes.filter(({ place }) => place === 'same-partition');
  }

  /** The indexes that the worker keeps up to date. */
  get elsewhere(): readonly ResolvedIndex[] {
    return this.indexes.filter(({ place }) => place !== 'same-partition');
  }

  /** Throws `DefinitionError` for a name that no index has. */
  named(name: string): ResolvedIndex {
    const index = this.indexes.find((each) => each.name === name);
    if (index !== undefined) return index;
    throw new DefinitionError(`${this.entity.type} has no index '${name}'`);
  }

  tableOf({ name, place }: ResolvedIndex): TableGateway {
    const table = place === 'other-table' ? own(this.#tables, name) : this.table;
    if (table !== undefined) return table;
    throw new DefinitionError(`the index '${name}' needs a table: give it as tables.${name}`);
  }

  blobsOf({ name }: ResolvedIndex): ListBlobs {
    const blobs = own(this.#blobs, name);
    if (blobs !== undefined) return blobs;
    throw new DefinitionError(`the index '${name}' needs blobs: give them as blobs.${name}`);
  }

  /** The entries of an entity's row in an index; none without a row, or when it is not indexed. */
  entriesOf(index: ResolvedIndex, row: StoredRow | undefined): readonly IndexEntry[] {
    if (row === undefined) return [];
    const entity = this.codec.fromRow(row);
    return entriesOf(index, entity, this.#marked(entity, row));
  }

  /** The index entry of a row that is at a key. */
  entryAt(index: ResolvedIndex, row: StoredRow | undefined, key: RowKey): IndexEntry | undefined {
    return this.entriesOf(index, row).find((entry) => sameKey(entry.key, key));
  }

  /** The entries of an entity's row in each index that has it. */
  entries(row: StoredRow | undefined): ReadonlyMap<ResolvedIndex, readonly IndexEntry[]> {
    const found = new Map<ResolvedIndex, readonly IndexEntry[]>();
    if (row === undefined) return found;
    const entity = this.codec.fromRow(row);
    const primary = this.#marked(entity, row);
    for (const index of this.indexes) found.set(index, entriesOf(index, entity, primary));
    return found;
  }

  /**
   * An upgrade may have changed the names under which a row of an older version is encrypted, and
   * copies have the new ones.
   */
  #marked(entity: Stored<object>, row: StoredRow): StoredRow {
    if (!isOutdated(this.entity, row)) return row;
    const { encrypt = [] } = withEncryptedNames(this.table, this.codec.toRow(entity));
    return { ...row, encrypt: [...new Set([...(row.encrypt ?? []), ...encrypt])] };
  }

  /** Reads the row of an entity; undefined when there is none. One point read. */
  async primary(key: RowKey): Promise<StoredRow | undefined> {
    const row = await this.table.get(key);
    return row !== undefined && this.codec.matches(row) ? row : undefined;
  }
}

/** The properties that a definition marks as encrypted. */
function encryptedNames({ properties }: AnyDefinition): readonly string[] {
  return Object.entries(properties)
    .filter(([, { model }]) => model.flags.has('encrypted'))
    .map(([name]) => name);
}
