import { CommitUnknownError } from '../../kv/errors.js';
import type { Store } from '../../kv/store.js';
import { transact } from '../../kv/transact.js';
import { appendString } from '../../kv/tuple.js';
import {
  allOperations,
  intervalStart,
  metricsIntervals,
  metricsPartitionKey,
  metricsRowKey,
  metricsTableName,
  type MetricsInterval,
} from '../../model/analytics/metrics-table.js';
import { serviceNames } from '../../model/services/services.js';
import type { ServicePropertiesService } from '../accounts/service-properties.js';
import type { TableService } from '../tables/table-service.js';
import { decodeMetricsRow, encodeMetricsRow } from './metrics-row.js';
import { metricsOf } from './metrics-settings.js';
import { addCounters, newCounters, type RequestCounters } from './request-counters.js';
import type { MetricsScope, MinuteCounts } from './request-metrics.js';

export interface MetricsWriterOptions {
  readonly store: Store;
  /** The services, which are read at each use because they may be replaced. */
  readonly services: {
    readonly tables: TableService;
    readonly properties: ServicePropertiesService;
  };
}

/** Counts of one endpoint and interval that no table has yet. */
interface Unwritten extends MetricsScope {
  readonly interval: MetricsInterval;
  readonly startMicros: number;
  readonly operations: Map<string, RequestCounters>;
}

/**
 * Endpoints times intervals whose counts wait for a store that fails. When there are more, the
 * oldest are dropped: five hours of minutes of three services.
 */
const unwrittenMax = 1000;

/** Attempts to add to rows against other processes that add to the same. */
const attemptsMax = 100;

/**
 * Adds counts to the tables of metrics (blob-service §22). A row is read and written under a check
 * of its version, so processes add to the same rows and none overwrites another's sums. All rows of
 * an endpoint and interval change in one commit.
 */
export class MetricsWriter {
  readonly #options: MetricsWriterOptions;
  /** In the order in which they were added. */
  readonly #unwritten = new Map<string, Unwritten>();

  constructor(options: MetricsWriterOptions) {
    this.#options = options;
  }

  /** Takes over counts, for `write`. Returns how many earlier ones were dropped for them. */
  add(counts: readonly MinuteCounts[]): number {
    for (const each of counts) {
      for (const interval of metricsIntervals) this.#addTo(interval, each);
    }
    let dropped = 0;
    for (const name of this.#unwritten.keys()) {
      if (this.#unwritten.size <= unwrittenMax) break;
      this.#unwritten.delete(name);
      dropped += 1;
    }
    return dropped;
  }

  /** Discards the counts that were not written. */
  discard(): void {
    this.#unwritten.clear();
  }

  /**
   * Writes the added counts, where the service's properties switch metrics on. Counts whose write
   * fails stay for the next time, unless they may have been written. Throws the first error after
   * all writes were tried.
   */
  async write(): Promise<void> {
    const errors: unknown[] = [];
    // Rows that could not be written are put back for the next time.
    const waiting = Array.from(this.#unwritten);
    for (const [name, counts] of waiting) {
      // Counts that are added during the write get an entry of their own.
      this.#unwritten.delete(name);
      try {
        await this.#write(counts);
      } catch (error) {
        errors.push(error);
        if (!(error instanceof CommitUnknownError)) this.#putBack(name, counts);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  /**
   * Makes the rows of an hour that has ended for all operations, where hour metrics are on and
   * there are none: an hour without a request has one as well (blob-service §22.2).
   */
  async closeHour(accounts: readonly string[], startMicros: number): Promise<void> {
    for (const account of accounts) {
      for (const service of serviceNames) {
        const scope = { account, service, location: 'Primary' } as const;
        await this.#write({ ...scope, interval: 'Hour', startMicros, operations: new Map() });
      }
    }
  }

  #addTo(interval: MetricsInterval, counts: MinuteCounts): void {
    const { account, service, location, operations } = counts;
    const startMicros = intervalStart(interval, counts.startMicros);
    const name = JSON.stringify([interval, startMicros, account, service, location]);
    let sums = this.#unwritten.get(name);
    if (sums === undefined) {
      sums = { account, service, location, interval, startMicros, operations: new Map() };
      this.#unwritten.set(name, sums);
    }
    addOperations(sums.operations, operations);
  }

  #putBack(name: string, counts: Unwritten): void {
    const added = this.#unwritten.get(name);
    if (added !== undefined) addOperations(counts.operations, added.operations);
    this.#unwritten.set(name, counts);
  }

  async #write(counts: Unwritten): Promise<void> {
    const { tables, properties } = this.#options.services;
    const { account, service, interval, startMicros } = counts;
    const settings = metricsOf(await properties.get(service, account), interval);
    if (!settings.enabled) return;
    const table = await tables.openSystemTable(account, metricsTableName(counts));
    const partition = appendString(table, metricsPartitionKey(startMicros));
    const rows = rowsOf(counts.operations, settings.includeApis === true);
    await transact(
      this.#options.store,
      async (transaction) => {
        for (const [row, counters] of rows) {
          const key = appendString(partition, row);
          const stored = await transaction.get(key);
          if (stored !== undefined && counts.operations.size === 0) continue;
          const sum = stored === undefined ? newCounters() : decodeMetricsRow(stored.value);
          addCounters(sum, counters);
          transaction.put(key, encodeMetricsRow(sum));
        }
      },
      { attemptsMax },
    );
  }
}

/** The rows by their keys: the sum of all operations first. */
function rowsOf(
  operations: ReadonlyMap<string, RequestCounters>,
  includesOperations: boolean,
): readonly (readonly [string, RequestCounters])[] {
  const all = newCounters();
  for (const counters of operations.values()) addCounters(all, counters);
  const rows: [string, RequestCounters][] = [[allOperations, all]];
  if (!includesOperations) return rows;
  for (const [operation, counters] of operations) rows.push([metricsRowKey(operation), counters]);
  return rows;
}

function addOperations(
  sums: Map<string, RequestCounters>,
  added: ReadonlyMap<string, RequestCounters>,
): void {
  for (const [operation, counters] of added) {
    const sum = sums.get(operation);
    if (sum !== undefined) addCounters(sum, counters);
    else {
      const copy = newCounters();
      addCounters(copy, counters);
      sums.set(operation, copy);
    }
  }
}
