import { isOutdated } from '../../definition/row-version.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { DecodeError } from '../../table/errors.js';
import type {
  RowPage,
  RowQuery,
  RowWrite,
  TableGateway,
  WriteResult,
} from '../../table/gateway.js';
import { inOrder } from '../../table/in-order.js';
import { isCopyEntry, primaryOf } from './index-entry.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedCopies } from './with-indexes.js';

const concurrency = 16;

/**
 * The table of an index of copies, which returns copies of an older version of the definition in
 * the form of the current one. Each such copy takes a point read of its entity, because a copy may
 * lack properties that an upgrade needs; one more when properties were selected. A copy that no
 * longer belongs in the index is left out.
 */
export class CurrentCopies implements TableGateway {
  readonly table: string;
  readonly #places: IndexPlaces;
  readonly #index: ResolvedCopies;
  readonly #rows: TableGateway;

  constructor(places: IndexPlaces, index: ResolvedCopies) {
    this.#places = places;
    this.#index = index;
    this.#rows = places.tableOf(index);
    this.table = this.#rows.table;
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const row = await this.#rows.get(key, select);
    return row === undefined ? undefined : this.#current(row, select !== undefined);
  }

  async page(query: RowQuery): Promise<RowPage> {
    const page = await this.#rows.page(query);
    if (!page.rows.some((row) => this.#isOutdated(row))) return page;
    const isPartial = query.select !== undefined;
    const rows = await inOrder(page.rows, concurrency, (row) => this.#current(row, isPartial));
    return { ...page, rows: rows.filter((row) => row !== undefined) };
  }

  write(write: RowWrite): Promise<WriteResult> {
    return this.#rows.write(write);
  }

  transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    return this.#rows.transact(writes);
  }

  #isOutdated(row: StoredRow): boolean {
    const { definition, codec } = this.#index;
    return isOutdated(definition, row) && codec.matches(row);
  }

  async #current(row: StoredRow, isPartial: boolean): Promise<StoredRow | undefined> {
    if (!this.#isOutdated(row)) return row;
    const whole = isPartial ? await this.#rows.get(row) : row;
    if (whole === undefined) return undefined;
    const primary = primaryOf(this.#index, whole);
    if (primary === undefined) {
      throw new DecodeError(`the copy ('${row.partitionKey}', '${row.rowKey}') has no entity`);
    }
    const entity = await this.#places.primary(primary);
    const entry = this.#places.entryAt(this.#index, entity, row);
    if (entry === undefined || !isCopyEntry(entry)) return undefined;
    return { ...entry.row, etag: whole.etag, timestamp: whole.timestamp };
  }
}
