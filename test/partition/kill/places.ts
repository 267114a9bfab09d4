import { holdingTimers } from '../../../src/base/async/timers.js';
import { systemClock, type Clock } from '../../../src/base/clock.js';
import { invariant, unreachable } from '../../../src/base/invariant.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { DiskFiles } from '../../../src/engines/journal/disk-files.js';
import { openJournaledStore } from '../../../src/engines/journal/store.js';
import { openLmdbStore } from '../../../src/engines/lmdb/store.js';
import { openPostgresStore } from '../../../src/engines/postgres/store.js';
import type { MemberStore } from '../../../src/kv/member-store.js';

/** Where a store is, for each process of its key space. One with a journal has one process. */
export interface Place {
  readonly kind: 'lmdb' | 'journaled' | 'postgres';
  /** A directory, or the URL of a database. */
  readonly at: string;
}

/** The stores of a key space; the first is the home store. */
export type Places = readonly Place[];

/** `join`: the stores are there, and another process owns them. */
export function openAt(
  places: Places,
  sharing: 'exclusive' | 'join',
  clock: Clock = systemClock,
): Promise<readonly MemberStore[]> {
  return Promise.all(places.map((place) => openOne(place, sharing, clock)));
}

async function openOne(
  { kind, at }: Place,
  sharing: 'exclusive' | 'join',
  clock: Clock,
): Promise<MemberStore> {
  const common = { clock, durability: 'durable' } as const;
  switch (kind) {
    case 'lmdb':
      return openLmdbStore({ ...common, directory: at, sharing });
    case 'journaled': {
      invariant(sharing === 'exclusive', 'a journal has one process');
      const base = await openLmdbStore({ ...common, directory: at });
      const files = new DiskFiles({ directory: at, sync: true });
      const given = { clock, timers: holdingTimers, randomness: systemRandomness };
      return openJournaledStore({ base, files, ...given });
    }
    case 'postgres':
      return openPostgresStore({ ...common, url: at, creates: sharing === 'exclusive' });
    default:
      return unreachable(kind);
  }
}
