import type { RowKey, StoredRow } from '../../rows/row.js';
import { TableNotFoundError } from '../../table/errors.js';
import type {
  EncryptedNames,
  RowPage,
  RowQuery,
  RowWrite,
  TableGateway,
  WriteResult,
} from '../../table/gateway.js';

/**
 * One table of a set, whether it exists yet or not: reads of a missing table find nothing, and a
 * write that can create a row creates the table first. Costs nothing while the table exists;
 * otherwise the failed request, a creation and the repeated request.
 */
export class BucketGateway implements TableGateway {
  readonly #table: TableGateway;
  readonly #create: () => Promise<void>;

  /** `create` creates the table, or throws to refuse it. */
  constructor(table: TableGateway, create: () => Promise<void>) {
    this.#table = table;
    this.#create = create;
  }

  get table(): string {
    return this.#table.table;
  }

  get encrypts(): EncryptedNames | undefined {
    return this.#table.encrypts;
  }

  get storesLargeValues(): boolean | undefined {
    return this.#table.storesLargeValues;
  }

  get writesMax(): number | undefined {
    return this.#table.writesMax;
  }

  get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    return orWhenMissing(this.#table.get(key, select), undefined);
  }

  write(write: RowWrite): Promise<WriteResult> {
    return this.#creating([write], () => this.#table.write(write));
  }

  transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    return this.#creating(writes, () => this.#table.transact(writes));
  }

  async check(writes: readonly RowWrite[]): Promise<void> {
    await orWhenMissing(this.#table.check?.(writes) ?? Promise.resolve(), undefined);
  }

  page(query: RowQuery): Promise<RowPage> {
    return orWhenMissing(this.#table.page(query), { rows: [] });
  }

  async #creating<T>(writes: readonly RowWrite[], send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (!isMissing(error) || !writes.every(makesRow)) throw error;
      await this.#create();
      return send();
    }
  }
}

/**
 * A transaction fails as a whole: creating the table only helps when every write can succeed in it.
 */
function makesRow({ kind }: RowWrite): boolean {
  return kind === 'insert' || kind === 'upsert-merge' || kind === 'upsert-replace';
}

/**
 * Whether a table is missing; also for a transaction, whose error has that of the table as its
 * cause.
 */
export function isMissing(error: unknown): boolean {
  if (error instanceof TableNotFoundError) return true;
  return error instanceof Error && error.cause instanceof TableNotFoundError;
}

async function orWhenMissing<T, E>(sent: Promise<T>, empty: E): Promise<T | E> {
  try {
    return await sent;
  } catch (error) {
    if (isMissing(error)) return empty;
    throw error;
  }
}
