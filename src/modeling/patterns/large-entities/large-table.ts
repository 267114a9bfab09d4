import { requireCounts } from '../../definition/count.js';
import { systemClock } from '../../../base/clock.js';
import { invariant } from '../../../base/invariant.js';
import { own } from '../../../base/own.js';
import { systemRandomness } from '../../../base/randomness.js';
import { ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import type {
  RowPage,
  RowQuery,
  RowWrite,
  TableGateway,
  WriteResult,
} from '../../table/gateway.js';
import { assembled, MissingValueError, readWhole, type ValueSources } from './assembly.js';
import type { Expander } from './expansion.js';
import { inOrder } from '../../table/in-order.js';
import { LargeWriter } from './large-writer.js';
import { blobFolder } from './layout.js';
import { manifestOf, manifestProperty, type Manifest } from './manifest.js';
import { limitsOf, type LargeOptions } from './options.js';
import { isPartRow, ownerProperty, partNames } from './parts.js';
import { reasonOf } from '../../table/failure-of-one.js';

const graceMsDefault = 3_600_000;
const concurrencyDefault = 8;

/**
 * A table whose entities may exceed the limits of the service: properties of more than 64 KiB and
 * entities of more than 1 MiB. Encryption goes outside: `withEncryption(withLargeValues(table, …),
 * …)`. Sends nothing.
 */
export function withLargeValues(table: TableGateway, options: LargeOptions = {}): LargeTable {
  return new LargeTable(table, options);
}

/**
 * A gateway that stores large entities and shows whole rows to its readers and writers.
 *
 * Requests, besides those of the table beneath it:
 * - `insert` and merges without large values: none, unless rows or blobs are needed.
 * - `replace`, `upsert-replace`, `delete`: one point read, to find rows and blobs to delete. None
 *   when neither rows nor blobs are in use.
 * - merges of large values: a read of the whole entity, and a replace instead of the merge.
 * - part rows: the write becomes one transaction; a read takes one more range read.
 * - blobs: one put before the write and one delete after it for each; one get for each that is
 *   read.
 *
 * A read returns all of one write: parts carry the generation of their write, and checksums are
 * compared. A crash leaves the old entity or the new one, and at worst an unreferenced blob, which
 * `verifyLargeValues` finds.
 */
export class LargeTable implements TableGateway {
  readonly table: string;
  readonly storesLargeValues = true;
  readonly writesMax: number | undefined;
  readonly confirm: TableGateway['confirm'];
  /** The age from which an unreferenced blob counts as abandoned. */
  readonly graceMs: number;
  readonly #expander: Expander;
  readonly #writer: LargeWriter;
  readonly #concurrency: number;

  constructor(table: TableGateway, options: LargeOptions) {
    const randomness = options.randomness ?? systemRandomness;
    requireCounts({ concurrency: options.concurrency });
    this.table = table.table;
    this.writesMax = table.writesMax;
    this.confirm = table.confirm?.bind(table);
    this.graceMs = options.graceMs ?? graceMsDefault;
    this.#concurrency = options.concurrency ?? concurrencyDefault;
    this.#expander = {
      table,
      blobs: options.blobs,
      limits: limitsOf(options),
      newGeneration: () => Buffer.from(randomness.bytes(16)).toString('hex'),
    };
    this.#writer = new LargeWriter(this.#expander, {
      clock: options.clock ?? systemClock,
      graceMs: this.graceMs,
      concurrency: this.#concurrency,
      contention: options,
    });
  }

  /** The table beneath, and the blobs. */
  get sources(): ValueSources {
    return this.#expander;
  }

  /** The prefix of the names of this table's blobs. */
  get blobFolder(): string {
    return blobFolder(this.#expander.limits, this.table);
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const stored = this.#stored(select);
    const selection =
      select === undefined || stored === undefined
        ? undefined
        : { stored, wanted: new Set(select) };
    return (await readWhole(this.#expander, key, selection))?.whole;
  }

  async page(query: RowQuery): Promise<RowPage> {
    const select = this.#stored(query.select);
    const page = await this.#expander.table.page(
      select === undefined ? query : { ...query, select },
    );
    const entities = page.rows.filter((row) => !isPartRow(row));
    const rows = await inOrder(entities, this.#concurrency, (row) =>
      this.#wholeOfPage(row, query.select),
    );
    return { ...page, rows: rows.filter((row) => row !== undefined) };
  }

  async write(write: RowWrite): Promise<WriteResult> {
    refuseMarked([write]);
    try {
      const [result] = await this.#writer.run([write]);
      invariant(result !== undefined, 'a write has a result');
      return result;
    } catch (error) {
      throw reasonOf(error);
    }
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    refuseMarked(writes);
    return this.#writer.run(writes);
  }

  /** One point read for a row that is replaced or deleted and may have had large values. */
  async check(writes: readonly RowWrite[]): Promise<void> {
    refuseMarked(writes);
    await this.#writer.check(writes);
  }

  /**
   * How the large values of an entity are stored, including the names of their blobs; undefined
   * when it has none or is absent. One point read.
   */
  async describe(key: RowKey): Promise<Manifest | undefined> {
    const row = await this.#expander.table.get(key, [manifestProperty]);
    return row === undefined ? undefined : manifestOf(row.properties);
  }

  /** The stored names to read for a selection. */
  #stored(select: readonly string[] | undefined): readonly string[] | undefined {
    if (select === undefined) return undefined;
    const { candidates, locations } = this.#expander.limits;
    const mayBeLarge =
      candidates === undefined ||
      select.some((name) => candidates.has(name) || own(locations, name) !== undefined);
    return [...select, ownerProperty, ...(mayBeLarge ? [manifestProperty, ...partNames] : [])];
  }

  /** Undefined when the row was deleted since the page was read. */
  async #wholeOfPage(
    row: StoredRow,
    select: readonly string[] | undefined,
  ): Promise<StoredRow | undefined> {
    try {
      return await assembled(this.#expander, row, select && new Set(select));
    } catch (error) {
      if (error instanceof MissingValueError) return this.get(row, select);
      throw error;
    }
  }
}

function refuseMarked(writes: readonly RowWrite[]): void {
  for (const write of writes) {
    const [name] = write.kind === 'delete' ? [] : (write.row.encrypt ?? []);
    if (name === undefined) continue;
    throw new ValueError(
      `'${name}' must be encrypted: write through withEncryption(withLargeValues(table)), which ` +
        'stores large values encrypted',
    );
  }
}
