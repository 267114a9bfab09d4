import { systemClock } from '../../../src/base/clock.js';
import { openLmdbStore } from '../../../src/engines/lmdb/store.js';
import { openPostgresStore } from '../../../src/engines/postgres/store.js';
import type { MemberStore } from '../../../src/kv/member-store.js';

/** Where the stores of a key space are, for each of its processes. */
export interface Places {
  readonly kind: 'lmdb' | 'postgres';
  /** Directories, or URLs of databases. */
  readonly at: readonly string[];
}

/** `join`: the stores are there, and another process owns them. */
export function openAt(
  { kind, at }: Places,
  sharing: 'exclusive' | 'join',
): Promise<readonly MemberStore[]> {
  return Promise.all(
    at.map((place): Promise<MemberStore> => {
      const common = { clock: systemClock, durability: 'durable' } as const;
      return kind === 'lmdb'
        ? openLmdbStore({ ...common, directory: place, sharing })
        : openPostgresStore({ ...common, url: place, creates: sharing === 'exclusive' });
    }),
  );
}
