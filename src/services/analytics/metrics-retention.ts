import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import { appendString } from '../../kv/tuple.js';
import {
  isCapacityTable,
  metricsPartitionKey,
  metricsTableOf,
  type MetricsTable,
} from '../../model/analytics/metrics-table.js';
import type { ServicePropertiesService } from '../accounts/service-properties.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import { sweepRange } from '../containers/sweep-range.js';
import { accountsOf } from '../containers/walk.js';
import type { TableService } from '../tables/table-service.js';
import type { SystemTable } from '../tables/tables.js';
import { HourlySweep, oldestKeptMicros } from './hourly-sweep.js';
import { metricsOf } from './metrics-settings.js';

interface Target extends SystemTable {
  readonly account: string;
}

export interface MetricsRetentionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly tables: TableService;
  readonly properties: ServicePropertiesService;
}

/**
 * Deletes rows of metrics that are older than the days that the service's properties keep them
 * (blob-service §22.2), at most an hour late.
 */
export function metricsRetention(options: MetricsRetentionOptions): HourlySweep<Target> {
  return new HourlySweep(options.clock, {
    all: () => targets(options),
    nameOf: ({ account, name }) => `${account}/${name}`,
    clear: (target, entriesMax) => clear(options, target, entriesMax),
  });
}

async function* targets({ store, tables }: MetricsRetentionOptions): AsyncGenerator<Target> {
  for await (const account of accountsOf(store, 'table')) {
    for (const table of await tables.systemTables(account)) yield { account, ...table };
  }
}

/** The metrics whose setting a table follows. Capacity goes with the hours of blobs. */
function settingOf(name: string): Pick<MetricsTable, 'service' | 'interval'> | undefined {
  return isCapacityTable(name) ? { service: 'blob', interval: 'Hour' } : metricsTableOf(name);
}

async function clear(
  { store, clock, properties }: MetricsRetentionOptions,
  { account, name, prefix }: Target,
  entriesMax: number,
): Promise<Reclaimed> {
  const table = settingOf(name);
  if (table === undefined) return { deleted: 0, more: false };
  const { retention } = metricsOf(await properties.get(table.service, account), table.interval);
  const oldest = oldestKeptMicros(retention, clock.nowMicros());
  if (oldest === undefined) return { deleted: 0, more: false };
  const end = appendString(prefix, metricsPartitionKey(oldest));
  return sweepRange({ store, clock }, { start: prefix, end }, entriesMax);
}
