import type { Backend } from './backend.js';

/**
 * The services over a store that may be restored. Their caches are invalid then, so they are
 * replaced. Get a service for each use, and do not keep it.
 */
export interface RenewableBackend extends Backend {
  /** Replaces the services, and ends what they do in the background. */
  renew(): void;
  /**
   * Ends what the services do in the background, for good. Resolves with the number of copies of
   * blobs that have not ended; see `BlobService.close`.
   */
  close(): Promise<number>;
  /** The same services, as live properties, with other members beside them. */
  with<More extends object>(more: More): Backend & More;
}

export function renewableBackend(make: () => Backend): RenewableBackend {
  let current = make();
  const closed: Promise<number>[] = [];
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
      closed.push(current.blobs.close());
      current = make();
    },
    close: async () => {
      const left = await Promise.all([...closed, current.blobs.close()]);
      return left.reduce((sum, copies) => sum + copies, 0);
    },
    with: <More extends object>(more: More) => withServices({ ...more }),
  });
}
