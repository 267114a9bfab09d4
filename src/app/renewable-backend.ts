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
  const names = Object.keys(current) as (keyof Backend)[];
  const liveProperties = Object.fromEntries(
    names.map((name) => [name, { get: () => current[name], enumerable: true }]),
  );
  const withServices = <T extends object>(target: T): T & Backend => {
    Object.defineProperties(target, liveProperties);
    return target as T & Backend;
  };
  return withServices({
    renew: () => {
      current = make();
    },
    with: <More extends object>(more: More) => withServices({ ...more }),
  });
}
