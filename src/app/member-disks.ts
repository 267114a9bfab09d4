import { diskSpace } from '../base/disk/disk-space.js';
import { DiskWatch, type AvailableSpace, type DiskWatchOptions } from '../base/disk/disk-watch.js';
import type { ServedStore } from '../kv/served-store.js';
import type { EngineSettings } from './open-engine.js';
import type { StorageChoice } from './settings.js';

/** A store and where it is. */
export interface PlacedStore {
  readonly storage: StorageChoice;
  readonly store: Pick<ServedStore, 'space'>;
}

type WatchSettings = Pick<EngineSettings, 'clock' | 'timers' | 'logger'>;

const mebibyte = 1024 * 1024;

/**
 * Watches the disk of a store, and logs when it is full but for its reserve. Undefined where the
 * data are not in files of this machine. `name`: of one of several stores.
 */
export function diskWatchOf(
  { clock, timers, logger }: WatchSettings,
  { storage, store }: PlacedStore,
  name?: string,
): DiskWatch | undefined {
  if (storage.kind !== 'directory') return undefined;
  const { directory } = storage;
  const which = name === undefined ? {} : { store: name };
  const onChange: DiskWatchOptions['onChange'] = (isLow, space) => {
    if (!isLow) return logger.warn('the disk has space again: all writes are served', which);
    logger.error('the disk is full but for a reserve: writes that need space are refused', {
      ...which,
      leftMebibytes: Math.floor((space?.freeBytes ?? 0) / mebibyte),
    });
  };
  return new DiskWatch({ space: () => spaceOf(directory, store), clock, timers, onChange });
}

async function spaceOf(
  directory: string,
  store: PlacedStore['store'],
): Promise<AvailableSpace | undefined> {
  const disk = await diskSpace(directory);
  return disk && { ...disk, ...(store.space?.() ?? { reusableBytes: 0, owedBytes: 0 }) };
}

/** The disks of several stores, by the name of the store. */
export class MemberDisks {
  readonly #settings: WatchSettings;
  readonly #watches = new Map<string, DiskWatch>();
  #isStarted = false;

  constructor(settings: WatchSettings) {
    this.#settings = settings;
  }

  of(name: string): DiskWatch | undefined {
    return this.#watches.get(name);
  }

  add(name: string, placed: PlacedStore): void {
    const watch = diskWatchOf(this.#settings, placed, name);
    if (watch === undefined) return;
    this.#watches.set(name, watch);
    if (this.#isStarted) void watch.start();
  }

  remove(name: string): void {
    this.#watches.get(name)?.close();
    this.#watches.delete(name);
  }

  /** Looks at all of them now, and again and again from then on. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await Promise.all(Array.from(this.#watches.values(), (watch) => watch.start()));
  }

  close(): void {
    this.#isStarted = false;
    for (const watch of this.#watches.values()) watch.close();
  }
}
