import type { Backend } from './backend.js';

/**
 * The services over a store that may be restored. Their caches are invalid then, so they are
 * replaced. Get a service for each use, and do not keep it.
 */
export interface RenewableBackend extends Backend {
  /** Replaces the services. */
  renew(): void;
  /** The same services, as live properties, with other members beside them. */
  with<More extends object>(more: More): Backend & More;
}

export function renewableBackend(make: () => Backend): RenewableBackend {
  let current = make();
  const services: Backend = {
    get tables() {
      return current.tables;
    },
    get queues() {
      return current.queues;
    },
    get blobs() {
      return current.blobs;
    },
    get properties() {
      return current.properties;
    },
    get metricsRetention() {
      return current.metricsRetention;
    },
    get capacityMetrics() {
      return current.capacityMetrics;
    },
    get logs() {
      return current.logs;
    },
    get logRetention() {
      return current.logRetention;
    },
  };
  const withServices = <T extends object>(target: T): T & Backend => {
    Object.defineProperties(target, Object.getOwnPropertyDescriptors(services));
    return target as T & Backend;
  };
  return withServices({
    renew: () => {
      current = make();
    },
    with: <More extends object>(more: More) => withServices({ ...more }),
  });
}
