import { endsWithin } from '../base/async/deadline.js';
import type { HttpService } from '../http/exchange/service.js';
import type { ServiceBackend } from '../http/operations/request.js';
import type { Store } from '../kv/store.js';
import type { ServerSettings } from './settings.js';

/** The store of the secondary endpoints when it is not the primary's: standbys of a database. */
export interface SecondaryStore extends Store {
  /** Its replication status. */
  synchrony: Exclude<ServiceBackend['synchrony'], undefined>;
}

/** How long a start waits for standbys that do not answer. Reads look at them again. */
const lookMs = 5_000;

/** Undefined: the secondary endpoints read the store. Throws `DatabaseError`. */
export async function openSecondary({
  storage,
  timers,
  randomness,
}: Pick<ServerSettings, 'storage' | 'timers' | 'randomness'>): Promise<SecondaryStore | undefined> {
  if (storage.kind !== 'postgres' || storage.replicas === undefined) return undefined;
  const { openReplicaStore } = await import('../engines/postgres/replica-store.js');
  const { replicas: url, schema } = storage;
  const store = openReplicaStore({ url, schema, timers, randomness });
  try {
    await endsWithin(store.assertUsable(), { limitMs: lookMs, timers });
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A service whose requests to the secondary endpoint are those of another one. */
export function withSecondary(service: HttpService, secondary?: HttpService): HttpService {
  if (secondary === undefined) return service;
  const requestOf: HttpService['requestOf'] = (exchange) =>
    (exchange.secondary ? secondary : service).requestOf(exchange);
  return { ...service, requestOf };
}
