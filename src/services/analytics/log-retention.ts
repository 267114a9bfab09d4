import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import { serviceNames, type ServiceName } from '../../model/services/services.js';
import type { ServicePropertiesService } from '../accounts/service-properties.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import { accountsOf } from '../containers/walk.js';
import { HourlySweep, oldestKeptMicros } from './hourly-sweep.js';
import { logFolder } from './log-name.js';
import type { LogSink } from './log-sink.js';

interface Target {
  readonly account: string;
  readonly service: ServiceName;
}

export interface LogRetentionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly properties: ServicePropertiesService;
  readonly logs: LogSink;
}

/**
 * Deletes logs of hours that are older than the days that the service's properties keep them
 * (blob-service §6.2), at most two hours late.
 */
export function logRetention(options: LogRetentionOptions): HourlySweep<Target> {
  return new HourlySweep(options.clock, {
    all: () => targets(options.store),
    nameOf: ({ account, service }) => `${account}/${service}`,
    clear: (target, entriesMax) => clear(options, target, entriesMax),
  });
}

/** The logs of every service are blobs. */
async function* targets(store: Store): AsyncGenerator<Target> {
  for await (const account of accountsOf(store, 'blob')) {
    for (const service of serviceNames) yield { account, service };
  }
}

async function clear(
  { clock, properties, logs }: LogRetentionOptions,
  { account, service }: Target,
  entriesMax: number,
): Promise<Reclaimed> {
  const { logging } = await properties.get(service, account);
  const oldest = oldestKeptMicros(logging.retention, clock.nowMicros());
  if (oldest === undefined) return { deleted: 0, more: false };
  const names = { start: `${service}/`, end: logFolder(service, oldest) };
  return logs.deleteRange(account, names, entriesMax);
}
