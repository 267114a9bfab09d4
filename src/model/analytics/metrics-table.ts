import { serviceNames, services, type ServiceName } from '../services/services.js';

/** The interval that one row of a metrics table covers. */
export const metricsIntervals = ['Hour', 'Minute'] as const;
export type MetricsInterval = (typeof metricsIntervals)[number];

/** The endpoint of the requests. */
export const metricsLocations = ['Primary', 'Secondary'] as const;
export type MetricsLocation = (typeof metricsLocations)[number];

/** A table of transaction metrics (blob-service §22.1). */
export interface MetricsTable {
  readonly interval: MetricsInterval;
  readonly location: MetricsLocation;
  readonly service: ServiceName;
}

export function metricsTableName({ interval, location, service }: MetricsTable): string {
  return `$Metrics${interval}${location}Transactions${services[service].title}`;
}

/** The name of the hour metrics of the primary before 2013-08-15, which clients still read. */
function formerName({ interval, location, service }: MetricsTable): string | undefined {
  if (interval !== 'Hour' || location !== 'Primary') return undefined;
  return `$MetricsTransactions${services[service].title}`;
}

const metricsTables: ReadonlyMap<string, MetricsTable> = new Map(
  metricsIntervals.flatMap((interval) =>
    metricsLocations.flatMap((location) =>
      serviceNames.flatMap((service) => {
        const table = { interval, location, service };
        return [metricsTableName(table), formerName(table)].flatMap((name) =>
          name === undefined ? [] : [[name.toLowerCase(), table] as const],
        );
      }),
    ),
  ),
);

/**
 * The metrics table of this name or this former one, in any case; undefined for every other name.
 */
export function metricsTableOf(name: string): MetricsTable | undefined {
  // Almost all names are of other tables.
  return name.startsWith('$') ? metricsTables.get(name.toLowerCase()) : undefined;
}

/** The table of the daily capacity of blobs (blob-service §22.3). */
export const capacityTableName = '$MetricsCapacityBlob';

/** Whether a table of this name, in any case, has metrics (blob-service §22.1). */
export function isMetricsTable(name: string): boolean {
  if (!name.startsWith('$')) return false;
  return metricsTableOf(name) !== undefined || isCapacityTable(name);
}

export function isCapacityTable(name: string): boolean {
  return name.toLowerCase() === capacityTableName.toLowerCase();
}

const minuteMicros = 60_000_000;
export const intervalMicros: Readonly<Record<MetricsInterval, number>> = {
  Hour: 60 * minuteMicros,
  Minute: minuteMicros,
};

/** The beginning of the interval that a time is in. Micros since 1970. */
export function intervalStart(interval: MetricsInterval, micros: number): number {
  return micros - (micros % intervalMicros[interval]);
}

/** `YYYYMMDDThhmm` in UTC: the partition key of an interval (blob-service §22.2). */
export function metricsPartitionKey(startMicros: number): string {
  return new Date(startMicros / 1000).toISOString().slice(0, 16).replaceAll(/[-:]/g, '');
}

/** The beginning of a day in UTC. */
export function dayStart(micros: number): number {
  return micros - (micros % (24 * intervalMicros.Hour));
}

/** The row keys of capacity: of what clients stored, and of logs (blob-service §22.3). */
export const capacityRows = { data: 'data', analytics: 'analytics' } as const;

/** The row key of the sum over all operations (blob-service §22.2). */
export const allOperations = 'user;All';

export function metricsRowKey(operation: string): string {
  return `user;${operation}`;
}
