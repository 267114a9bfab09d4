import { diskSpace } from '../base/disk-space.js';
import {
  isFullButReserve,
  LowSpaceGuard,
  type AvailableSpace,
} from '../http/low-space/low-space-guard.js';
import type { ServedStore } from '../kv/served-store.js';
import type { ServerSettings, StorageChoice } from './settings.js';

type SpaceOf = Pick<ServedStore, 'space'>;

/** Undefined where the data are not in files of this machine. */
export function lowSpaceGuardOf(
  { storage, clock, timers, logger }: ServerSettings,
  { store }: { readonly store: SpaceOf },
): LowSpaceGuard | undefined {
  if (storage.kind !== 'directory') return undefined;
  const { directory } = storage;
  const space = () => availableSpace(directory, store);
  return new LowSpaceGuard({ space, clock, timers, logger });
}

/**
 * Whether the disk of a store has more than its reserve left. True where the data are not in files
 * of this machine, and where the disk does not say.
 */
export async function hasRoom(storage: StorageChoice, store: SpaceOf): Promise<boolean> {
  if (storage.kind !== 'directory') return true;
  const space = await availableSpace(storage.directory, store).catch(() => undefined);
  return space === undefined || !isFullButReserve(space);
}

async function availableSpace(
  directory: string,
  store: SpaceOf,
): Promise<AvailableSpace | undefined> {
  const disk = await diskSpace(directory);
  return disk && { ...disk, ...(store.space?.() ?? { reusableBytes: 0, owedBytes: 0 }) };
}
