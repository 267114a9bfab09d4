import { LowSpaceGuard } from '../http/low-space/low-space-guard.js';
import type { Interceptor } from '../http/pipeline/interceptor.js';
import { serviceNames, type ServiceName } from '../model/services/services.js';
import type { OpenData } from './open-data.js';
import { OpenPartitions } from './open-partitions.js';
import { diskWatchOf } from './member-disks.js';
import { homeName, type ServerSettings } from './settings.js';

/** Refuses what needs space while a disk has only its reserve left. */
export interface LowSpaceGuards {
  /** For requests of a service, before their work. */
  of(service: ServiceName): readonly Interceptor[];
  /** Looks at the disks now, and again and again from then on. */
  start(): Promise<void>;
  close(): void;
}

/**
 * Several stores refuse commits by themselves, each for its own disk. Blobs are in the home store,
 * so their requests are refused for its disk, before bytes come.
 */
export function lowSpaceGuardsOf(
  settings: ServerSettings,
  { store }: Pick<OpenData, 'store'>,
): LowSpaceGuards {
  const { storage } = settings;
  const isSpread = store instanceof OpenPartitions;
  const watch = isSpread ? store.disks.of(homeName) : diskWatchOf(settings, { storage, store });
  const watched = isSpread ? store.disks : watch;
  const guards = watch === undefined ? [] : [new LowSpaceGuard(watch)];
  const guarded: readonly ServiceName[] = isSpread ? ['blob'] : serviceNames;
  return {
    of: (service) => (guarded.includes(service) ? guards : []),
    start: async () => watched?.start(),
    close: () => watched?.close(),
  };
}
