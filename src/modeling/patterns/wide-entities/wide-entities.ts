import { own } from '../../../base/own.js';
import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { storedAs, type StoredAs } from '../../definition/stored-entity.js';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import type { StoredRow } from '../../rows/row.js';
import { sameProperties } from '../../rows/same-value.js';
import { isConflict, retryConflicts, type ContentionOptions } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import {
  absentEntityError,
  type EntityNotFoundError,
  TransactionFailedError,
} from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { odataString } from '../../table/odata.js';
import type { KeyOrEntity } from '../../table/row-writes.js';
import { Transaction } from '../../table/transaction.js';
import type {
  AnyWideDefinition,
  GroupOf,
  WideChangesOf,
  WideCreateOf,
  WideKeyOf,
  WidePartOf,
  WideReadOf,
} from './wide-definition.js';

/** What an entity that was read carries: what each of its rows does, by the name of the group. */
export const wideRows: unique symbol = Symbol.for('tabularium.wideRows');

/** A wide entity as it was read. */
export type WideStored<T> = T & { readonly [wideRows]: Readonly<Record<string, StoredAs>> };

/** The ETags of the rows that an entity was read with, by the names of their groups. */
export function wideEtagsOf(entity: object): Readonly<Record<string, string>> {
  const rows = rowsOf(entity);
  return Object.fromEntries(Object.entries(rows).map(([group, { etag }]) => [group, etag]));
}

function rowsOf(entity: object): Readonly<Record<string, StoredAs>> {
  return (entity as { readonly [wideRows]?: Readonly<Record<string, StoredAs>> })[wideRows] ?? {};
}

/** What must hold for a write. */
export interface WideCondition {
  /** `'any'`: whatever is there. When absent, the ETags that the entity was read with. */
  readonly ifMatch?: 'any';
}

/** A group and the definition of its row. */
type WideRow = readonly [string, AnyDefinition];

type Values = Readonly<Record<string, unknown>>;

/** How often a read of several pages is repeated until no row changed between them. */
const readsMax = 10;

/**
 * Entities of several rows. All rows of an entity are there from its insert to its delete, so that
 * a change of one row never makes half an entity.
 *
 * What a whole read gives is of one moment, also when it takes several pages.
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
   * One transaction of as many inserts as there are groups. Throws `TransactionFailedError` with an
   * `EntityExistsError` when the entity is there, and `TooLargeError` beyond 4 MiB: nothing is
   * inserted then.
   */
  async insert(entity: WideCreateOf<W>): Promise<void> {
    const transaction = this.#transaction();
    for (const [, row] of this.#rows) transaction.insert(row, pick(row, entity));
    await transaction.run();
  }

  /**
   * The whole entity: one range read; when it takes several pages, they and as many again without
   * values, until nothing changed between them. Undefined when it is absent. Throws `DecodeError`
   * when a row is missing.
   */
  get(key: WideKeyOf<W>): Promise<WideStored<WideReadOf<W>> | undefined>;
  /**
   * Some groups: one point read for each, at the same time, and once more when only some are there.
   * They may be of different moments.
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
   * Changes the properties given and keeps the others: one merge when they are of one group, one
   * transaction of merges otherwise. `target` is an entity that was read, whose ETags must still
   * hold for the rows that change, or the values of the keys with `ifMatch: 'any'`. Throws as a
   * merge does, and then has changed nothing.
   */
  async change(
    target: WideKeyOf<W> | WideStored<WideReadOf<W>>,
    changes: WideChangesOf<W>,
    condition: WideCondition = {},
  ): Promise<void> {
    const touched = this.#touched(changes);
    const [only] = touched;
    if (only === undefined) return;
    const merges = touched.map(([group, row]) => ({
      row,
      target: this.#target(target, group, row),
      changes: changesOf(row, changes),
    }));
    const [first] = merges;
    if (merges.length === 1 && first !== undefined) {
      const entities = new Entities(first.row, this.#table, this.#options);
      await entities.merge(first.target, first.changes, condition);
      return;
    }
    const transaction = this.#transaction();
    for (const merge of merges) {
      transaction.merge(merge.row, merge.target, merge.changes, condition);
    }
    await transaction.run();
  }

  /**
   * Reads the whole entity, lets `change` make the new one and replaces the rows that differ under
   * their ETags, in one transaction; when somebody else was faster, all of it again. Rows that stay
   * as they are may change meanwhile. A row that is missing is inserted, so that a definition can
   * get another group. Each attempt is one range read and one transaction; nothing is sent when
   * nothing differs. Throws `EntityNotFoundError` when the entity is absent and `ContentionError`
   * when others were faster at all attempts.
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

  /** One transaction of as many deletes as there are groups. Conditions as of `change`. */
  async delete(
    target: WideKeyOf<W> | WideStored<WideReadOf<W>>,
    condition: WideCondition = {},
  ): Promise<void> {
    const transaction = this.#transaction();
    for (const [group, row] of this.#rows) {
      transaction.delete(row, this.#target(target, group, row), condition);
    }
    await transaction.run();
  }

  async #replaceChanged(rows: readonly StoredRow[], current: object, next: Values): Promise<void> {
    const transaction = this.#transaction();
    const before = rowsOf(current);
    for (const [group, row] of this.#rows) {
      const carried = own(before, group);
      const entity = pick(row, next);
      if (carried === undefined) transaction.insert(row, entity);
      else {
        const codec = codecOf(row);
        const whole = { ...entity, [storedAs]: carried };
        const stored = rows.find(({ rowKey }) => rowKey === carried.key.rowKey);
        const written = codec.toRow(whole);
        const isSame =
          stored !== undefined &&
          sameProperties(written, stored) &&
          sameProperties(stored, written);
        if (!isSame) transaction.replace(row, whole);
      }
    }
    if (transaction.writes.length > 0) await transaction.run();
  }

  #transaction(): Transaction {
    return new Transaction(this.#table, this.#options);
  }

  /** Rows that are there in part may be of an entity that is being deleted: then read again. */
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
    const filter =
      `PartitionKey eq ${odataString(first?.partitionKey ?? '')} and ` +
      `RowKey ge ${odataString(first?.rowKey ?? '')} and RowKey le ${odataString(last?.rowKey ?? '')}`;
    const own = new Set(keys.map(({ rowKey }) => rowKey));
    const query = select === undefined ? { filter } : { filter, select };
    const rows: StoredRow[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await this.#table.page(cursor === undefined ? query : { ...query, cursor });
      rows.push(...page.rows.filter(({ rowKey }) => own.has(rowKey)));
      cursor = page.cursor;
      pages += 1;
    } while (cursor !== undefined);
    return { rows, pages };
  }

  /** The entity of its rows; those that are missing are an error, or leave their properties out. */
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

  /** The groups of these names; all when undefined. */
  #named(groups: readonly string[] | undefined) {
    if (groups === undefined) return this.#rows;
    return groups.map((name) => {
      const found = this.#rows.find(([group]) => group === name);
      if (found !== undefined) return found;
      throw new ValueError(`${this.definition.type} has no group '${name}'`);
    });
  }

  /** The groups that changes are of. */
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

  /** The row of an entity that was read, or the values of the keys. */
  #target(target: object, group: string, row: AnyDefinition): KeyOrEntity<AnyDefinition> {
    const keys = pick(row, { ...target }, Object.keys(this.definition.keys));
    const carried = own(rowsOf(target), group);
    return carried === undefined ? keys : { ...keys, [storedAs]: carried };
  }

  #absent(key: Values): EntityNotFoundError {
    const [, row] = this.#rows[0] ?? [];
    const rowKey = row === undefined ? { partitionKey: '', rowKey: '' } : codecOf(row).key(key);
    return absentEntityError(this.definition.type, rowKey);
  }
}

/** The values of a row's properties, the keys among them. */
function pick(
  { properties }: AnyDefinition,
  values: Values,
  names: readonly string[] = Object.keys(properties),
): Values {
  const entries = names.filter((name) => values[name] !== undefined);
  return Object.fromEntries(entries.map((name) => [name, values[name]]));
}

/** The changes of a row. That no type tells they can be merged is for the codec to refuse. */
function changesOf(row: AnyDefinition, changes: Values): never {
  return pick(row, changes) as never;
}

/** The entities of a wide definition in a table. Sends nothing. */
export function wideEntitiesOf<W extends AnyWideDefinition>(
  definition: W,
  table: TableGateway,
  options?: ContentionOptions,
): WideEntities<W> {
  return new WideEntities(definition, table, options);
}
