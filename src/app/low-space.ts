import { diskSpace } from '../base/disk-space.js';
import { LowSpaceGuard, type AvailableSpace } from '../http/low-space/low-space-guard.js';
import type { OpenData } from './open-data.js';
import type { ServerSettings } from './settings.js';

/** Undefined where the data are not in files of this machine. */
export function lowSpaceGuardOf(
  { storage, clock, timers, logger }: ServerSettings,
  { store }: OpenData,
): LowSpaceGuard | undefined {
  if (storage.kind !== 'directory') return undefined;
  const { directory } = storage;
  const space = async (): Promise<AvailableSpace | undefined> => {
    const disk = await diskSpace(directory);
    return disk && { ...disk, ...(store.space?.() ?? { reusableBytes: 0, owedBytes: 0 }) };
  };
  return new LowSpaceGuard({ space, clock, timers, logger });
}
