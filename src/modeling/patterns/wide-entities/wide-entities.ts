import { allPages } from '../../table/all-rows.js';
import { own } from '../../../base/own.js';
import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { storedAs, type StoredAs } from '../../definition/stored-entity.js';
import { refuseUnknownNames } from '../../definition/unknown-name.js';
import { DecodeError, DefinitionError, TooLargeError, ValueError } from '../../rows/model-error.js';
import type { StoredRow } from '../../rows/row.js';
import { sameContent } from '../../rows/same-value.js';
import { isConflict, retryConflicts, type ContentionOptions } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { type EntityNotFoundError, TransactionFailedError } from '../../table/errors.js';
import { absentEntityError } from '../../table/refusals.js';
import { transactionWritesMax, type TableGateway } from '../../table/gateway.js';
import type { ReadTarget } from '../../table/row-writes.js';
import { Transaction, type TransactionChange } from '../../table/transaction.js';
import {
  type AnyWideDefinition,
  type GroupOf,
  type WideChangesOf,
  type WideCreateOf,
  type WideKeyOf,
  type WidePartOf,
  type WideReadOf,
  withKeys,
} from './wide-definition.js';

/** The symbol under which a read entity carries the metadata of its rows, by group. */
export const wideRows: unique symbol = Symbol.for('tabularium.wideRows');

/** A wide entity that was read. */
export type WideStored<T> = T & { readonly [wideRows]: Readonly<Record<string, StoredAs>> };

/** The ETags with which the rows of an entity were read, by group. */
export function wideEtagsOf(entity: object): Readonly<Record<string, string>> {
  const rows = rowsOf(entity);
  return Object.fromEntries(Object.entries(rows).map(([group, { etag }]) => [group, etag]));
}

function rowsOf(entity: object): Readonly<Record<string, StoredAs>> {
  return (entity as { readonly [wideRows]?: Readonly<Record<string, StoredAs>> })[wideRows] ?? {};
}

/** The condition of a write. */
export interface WideCondition {
  /** `'any'`: unconditional. When absent, the ETags that the entity was read with. */
  readonly ifMatch?: 'any';
}

/** A group and the definition of its row. */
type WideRow = readonly [string, AnyDefinition];

type Values = Readonly<Record<string, unknown>>;

/** How often a read of several pages is repeated because rows changed between them. */
const readsMax = 10;

/**
 * Entities of several rows. All rows of an entity exist from its insert to its delete, so a change
 * of one row never leaves half an entity.
 *
 * A read of the whole entity is a snapshot, even when it takes several pages.
 */
export class WideEntities<W extends AnyWideDefinition> {
  readonly definition: W;
  readonly #table: TableGateway;
  readonly #options: ContentionOptions;
  readonly #rows: readonly WideRow[];

  constructor(definition: W, table: TableGateway, options: ContentionOptions = {}) {
    this.definition = definition;
    this.#table = table;
    this.#options = options;
    this.#rows = [...definition.rows];
  }

  /**
   * One transaction with an insert for each group. Throws `TransactionFailedError` with an
   * `EntityExistsError` when the entity exists, `TooLargeError` beyond 4 MiB, and
   * `DefinitionError` when the table takes fewer writes in a transaction than there are groups;
   * then nothing was inserted.
   */
  async insert(entity: WideCreateOf<W>): Promise<void> {
    await this.#transaction().join(this.inserting(entity)).run();
  }

  /** The inserts of an entity, to join a transaction. */
  inserting(entity: WideCreateOf<W>): TransactionChange {
    return {
      addTo: (writes) => {
        refuseMoreGroups(this.definition, this.#table);
        this.#refuseUnknown(entity);
        const whole = withKeys(this.definition, entity);
        for (const [, row] of this.#rows) writes.insert(row, pick(row, whole));
      },
    };
  }

  /**
   * The whole entity: one range read. When it takes several pages, they are read again without
   * values, until nothing changed between the two reads. Undefined when it is absent. Throws
   * `DecodeError` when a row is missing, or rows changed during all of ten reads.
   */
  get(key: WideKeyOf<W>): Promise<WideStored<WideReadOf<W>> | undefined>;
  /**
   * Some groups: one concurrent point read for each, repeated once when only some exist. The groups
   * may be of different moments.
   */
  get<const N extends GroupOf<W>>(
    key: WideKeyOf<W>,
    options: { readonly groups: readonly N[] },
  ): Promise<WideStored<WidePartOf<W, N>> | undefined>;
  async get(
    key: WideKeyOf<W>,
    options?: { readonly groups: readonly string[] },
  ): Promise<object | undefined> {
    const wanted = this.#named(options?.groups);
    const found =
      options === undefined ? await this.#readAll(key) : await this.#readGroups(wanted, key);
    return found.length === 0 ? undefined : this.#joined(wanted, found);
  }

  /**
   * Changes the given properties and keeps the others: one merge when they are in one group,
   * otherwise one transaction of merges. `target` is an entity that was read, whose ETags must hold
   * for the rows that change, or the values of the keys with `ifMatch: 'any'`. Throws as a merge
   * does; then nothing was changed.
   */
  async change(
    target: WideKeyOf<W> | WideStored<WideReadOf<W>>,
    changes: WideChangesOf<W>,
    condition: WideCondition = {},
  ): Promise<void> {
    const merges = this.#merges(target, changes);
    const [first] = merges;
    if (first === undefined) return;
    if (merges.length === 1) {
      const entities = new Entities(first.row, this.#table, this.#options);
      await entities.merge(first.target, first.changes, condition);
      return;
    }
    await this.#transaction()
      .join(this.changing(target, changes, condition))
      .run();
  }

  /** The merges of changed properties, to join a transaction. Conditions as for `change`. */
  changing(
    target: WideKeyOf<W> | WideStored<WideReadOf<W>>,
    changes: WideChangesOf<W>,
    condition: WideCondition = {},
  ): TransactionChange {
    return {
      addTo: (writes) => {
        for (const merge of this.#merges(target, changes)) {
          writes.merge(merge.row, merge.target, merge.changes, condition);
        }
      },
    };
  }

  /**
   * Reads the whole entity, calls `change` and replaces the rows that differ under their ETags, in
   * one transaction; starts again after a conflict. Rows that do not differ may change meanwhile. A
   * missing row is inserted, so that a definition can get another group. Each attempt is one range
   * read and one transaction, which is not sent when nothing differs. Throws `EntityNotFoundError`
   * when the entity is absent, and `ContentionError` after conflicts at all attempts.
   */
  update(
    key: WideKeyOf<W>,
    change: (current: WideStored<WideReadOf<W>>) => WideReadOf<W> | Promise<WideReadOf<W>>,
  ): Promise<WideReadOf<W>> {
    return retryConflicts(
      `${this.definition.type}: update`,
      this.#options,
      async () => {
        const rows = await this.#readAll(key);
        if (rows.length === 0) throw this.#absent(key);
        const current = this.#joined(this.#rows, rows, false) as WideStored<WideReadOf<W>>;
        const next = await change(current);
        await this.#replaceChanged(rows, current, next);
        return next;
      },
      (error) => error instanceof TransactionFailedError && isConflict(error),
    );
  }

  /** One transaction with a delete for each group. Conditions as for `change`. */
  async delete(
    target: WideKeyOf<W> | WideStored<WideReadOf<W>>,
    condition: WideCondition = {},
  ): Promise<void> {
    await this.#transaction().join(this.deleting(target, condition)).run();
  }

  /** The deletes of an entity, to join a transaction. Conditions as for `change`. */
  deleting(
    target: WideKeyOf<W> | WideStored<WideReadOf<W>>,
    condition: WideCondition = {},
  ): TransactionChange {
    return {
      addTo: (writes) => {
        for (const [group, row] of this.#rows) {
          writes.delete(row, this.#target(target, group, row), condition);
        }
      },
    };
  }

  /** Their values would be lost silently. */
  #refuseUnknown(entity: Values): void {
    const names = this.#rows.flatMap(([, { properties }]) => Object.keys(properties));
    refuseUnknownNames(this.definition.type, entity, names);
  }

  async #replaceChanged(rows: readonly StoredRow[], current: object, next: Values): Promise<void> {
    this.#refuseUnknown(next);
    const transaction = this.#transaction();
    const before = rowsOf(current);
    for (const [group, row] of this.#rows) {
      const carried = own(before, group);
      const entity = pick(row, next);
      if (carried === undefined) transaction.insert(row, entity);
      else {
        const stored = rows.find(({ rowKey }) => rowKey === carried.key.rowKey);
        replaceIfChanged(transaction, row, { ...entity, [storedAs]: carried }, stored);
      }
    }
    if (transaction.size > 0) await transaction.run();
  }

  #transaction(): Transaction {
    return new Transaction(this.#table, this.#options);
  }

  /** When only some rows exist, the entity may be being deleted: reads once more. */
  async #readGroups(wanted: readonly WideRow[], key: Values): Promise<readonly StoredRow[]> {
    for (let read = 1; ; read += 1) {
      const keys = wanted.map(([, row]) => codecOf(row).key(key));
      const rows = await Promise.all(keys.map((rowKey) => this.#table.get(rowKey)));
      const found = rows.filter((row) => row !== undefined);
      if (found.length === 0 || found.length === wanted.length || read > 1) return found;
    }
  }

  async #readAll(key: Values): Promise<readonly StoredRow[]> {
    for (let read = 1; ; read += 1) {
      const { rows, pages } = await this.#readRange(key);
      if (pages === 1) return rows;
      const again = await this.#readRange(key, []);
      const isSame =
        again.rows.length === rows.length &&
        again.rows.every(({ etag }, index) => etag === rows[index]?.etag);
      if (isSame) return rows;
      if (read === readsMax) {
        throw new DecodeError(
          `${this.definition.type}: rows changed during each of ${readsMax} reads of several pages`,
        );
      }
    }
  }

  async #readRange(key: Values, select?: readonly string[]) {
    const keys = this.#rows.map(([, row]) => codecOf(row).key(key));
    const [first, last] = [keys[0], keys.at(-1)];
    const own = new Set(keys.map(({ rowKey }) => rowKey));
    const rowKey = { from: first?.rowKey, to: last?.rowKey };
    const query = { partitionKey: first?.partitionKey, rowKey, select };
    const rows: StoredRow[] = [];
    let pages = 0;
    for await (const page of allPages(this.#table, query)) {
      rows.push(...page.rows.filter(({ rowKey }) => own.has(rowKey)));
      pages += 1;
    }
    return { rows, pages };
  }

  /**
   * Joins rows to an entity. A missing row is an error if strict, otherwise its properties are
   * absent.
   */
  #joined(wanted: readonly WideRow[], found: readonly StoredRow[], isStrict = true): object {
    const carried: Record<string, StoredAs> = {};
    const values: Record<string, unknown> = {};
    for (const [group, row] of wanted) {
      const stored = found.find(({ rowKey }) => rowKey.endsWith(`_${group}`));
      if (stored === undefined) {
        if (isStrict) throw this.#incomplete(group, found);
        continue;
      }
      const { [storedAs]: rowStoredAs, ...entity } = codecOf(row).fromRow(stored);
      Object.assign(values, entity);
      carried[group] = rowStoredAs;
    }
    return { ...values, [wideRows]: carried };
  }

  #incomplete(group: string, [first]: readonly StoredRow[]): DecodeError {
    return new DecodeError(
      `${this.definition.type} ('${first?.partitionKey}', '${first?.rowKey}') lacks its row ` +
        `'${group}'; after a definition got another group, update() adds the row`,
    );
  }

  /** The groups with these names; all when undefined. */
  #named(groups: readonly string[] | undefined) {
    if (groups === undefined) return this.#rows;
    return groups.map((name) => {
      const found = this.#rows.find(([group]) => group === name);
      if (found !== undefined) return found;
      throw new ValueError(`${this.definition.type} has no group '${name}'`);
    });
  }

  /** The merge of each row with changed properties. */
  #merges(target: object, changes: Values) {
    return this.#touched(changes).map(([group, row]) => ({
      row,
      target: this.#target(target, group, row),
      changes: changesOf(row, changes),
    }));
  }

  /** The groups of the changed properties. */
  #touched(changes: Values) {
    const given = Object.keys(changes).filter((name) => changes[name] !== undefined);
    const touched = this.#rows.filter(([group]) =>
      given.some((name) => Object.hasOwn(this.definition.groups[group] ?? {}, name)),
    );
    const unknown = given.find((name) =>
      touched.every(([, row]) => !Object.hasOwn(row.properties, name)),
    );
    if (unknown === undefined) return touched;
    throw new ValueError(`${this.definition.type} has no property '${unknown}'`);
  }

  /**
   * The row's part of an entity that was read, or the values of the keys. A write of values without
   * a condition is refused when it is made.
   */
  #target(target: object, group: string, row: AnyDefinition): ReadTarget<AnyDefinition> {
    const keys = pick(row, { ...target }, Object.keys(this.definition.keys));
    const carried = own(rowsOf(target), group);
    return { ...keys, ...(carried && { [storedAs]: carried }) } as ReadTarget<AnyDefinition>;
  }

  #absent(key: Values): EntityNotFoundError {
    const [, row] = this.#rows[0] ?? [];
    const rowKey = row === undefined ? { partitionKey: '', rowKey: '' } : codecOf(row).key(key);
    return absentEntityError(this.definition.type, rowKey);
  }
}

/**
 * Replaces a row that differs from the stored one. A full row has no room for the defaults and the
 * type that it lacks: where nothing else differs, it stays as it is.
 */
function replaceIfChanged(
  transaction: Transaction,
  definition: AnyDefinition,
  next: object & { readonly [storedAs]: StoredAs },
  stored: StoredRow | undefined,
): void {
  const codec = codecOf(definition);
  const shown = codec.shownRow(next);
  if (stored !== undefined && sameContent(shown, stored)) return;
  try {
    transaction.replace(definition, next);
  } catch (error) {
    const isFull = error instanceof TooLargeError && stored !== undefined;
    if (isFull && sameContent(shown, codec.shownRow(codec.fromRow(stored)))) return;
    throw error;
  }
}

function refuseMoreGroups({ type, rows }: AnyWideDefinition, table: TableGateway): void {
  const { writesMax = transactionWritesMax } = table;
  if (rows.size <= writesMax) return;
  throw new DefinitionError(
    `${type}: ${rows.size} groups; a transaction of the table '${table.table}' writes ${writesMax} ` +
      `rows, because it adds ${transactionWritesMax - writesMax} of its own, as a shard map does; ` +
      'join some groups',
  );
}

/** The values of a row's properties, including the keys. */
function pick(
  { properties }: AnyDefinition,
  values: Values,
  names: readonly string[] = Object.keys(properties),
): Values {
  const entries = names.filter((name) => values[name] !== undefined);
  return Object.fromEntries(entries.map((name) => [name, values[name]]));
}

/** The changes of a row, untyped: the codec refuses properties that cannot be merged. */
function changesOf(row: AnyDefinition, changes: Values): never {
  return pick(row, changes) as never;
}

/**
 * The entities of a wide definition in a table. Sends nothing. Inserts throw `DefinitionError` when
 * the table takes fewer writes in a transaction than there are groups: 99 of a shard map.
 */
export function wideEntitiesOf<W extends AnyWideDefinition>(
  definition: W,
  table: TableGateway,
  options?: ContentionOptions,
): WideEntities<W> {
  return new WideEntities(definition, table, options);
}
