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
  close(limitMs: number): Promise<number>;
  /** The same services, as live properties, with other members beside them. */
  with<More extends object>(more: More): Backend & More;
}

/** How long copies of replaced services have until they count as not ended. */
const copiesEndMs = 5_000;

export function renewableBackend(make: () => Backend): RenewableBackend {
  let current = make();
  /** The services of blobs that were closed and have copies still, which hold them anyway. */
  const closed = new Set<Backend['blobs']>();
  const names = Object.keys(current) as (keyof Backend)[];
  const liveProperties = Object.fromEntries(
    names.map((name) => [name, { get: () => current[name], enumerable: true }]),
  );
  const withServices = <T extends object>(target: T): T & Backend => {
    Object.defineProperties(target, liveProperties);
    return target as T & Backend;
  };
  const closeBlobs = async (blobs: Backend['blobs'], limitMs: number): Promise<number> => {
    const copies = await blobs.close(limitMs);
    if (copies === 0) closed.delete(blobs);
    return copies;
  };
  // Also those that were closed before: their copies may have ended meanwhile.
  const closeAll = (limitMs: number): Promise<number[]> => {
    closed.add(current.blobs);
    return Promise.all([...closed].map((blobs) => closeBlobs(blobs, limitMs)));
  };
  return withServices({
    renew: () => {
      void closeAll(copiesEndMs);
      current = make();
    },
    close: async (limitMs: number) => {
      const copies = await closeAll(limitMs);
      return copies.reduce((sum, each) => sum + each, 0);
    },
    with: <More extends object>(more: More) => withServices({ ...more }),
  });
}
