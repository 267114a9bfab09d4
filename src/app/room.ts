import { diskRoom } from '../base/disk-room.js';
import { RoomGuard, type Room } from '../http/room/room-guard.js';
import type { OpenData } from './open-data.js';
import type { ServerSettings } from './settings.js';

/** Undefined where the data are not in files of this machine. */
export function roomGuardOf(
  { storage, clock, timers, logger }: ServerSettings,
  { store }: OpenData,
): RoomGuard | undefined {
  if (storage.kind !== 'directory') return undefined;
  const { directory } = storage;
  const room = async (): Promise<Room | undefined> => {
    const disk = await diskRoom(directory);
    return disk && { ...disk, ...(store.space?.() ?? { reusableBytes: 0, owedBytes: 0 }) };
  };
  return new RoomGuard({ room, clock, timers, logger });
}
