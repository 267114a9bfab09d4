import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { invariant } from '../../base/invariant.js';
import type { Entry, Store } from '../../kv/store.js';
import { decodeTuple } from '../../kv/tuple.js';
import { droppedContainerKey } from '../containers/keys.js';
import { entriesOf } from '../containers/walk.js';
import { bornMicrosOf } from './garbage.js';
import type { BlobKeys } from './keys.js';

/**
 * How long garbage of blobs stays before it is freed. A reader in any process may just have found
 * its content by a record that was replaced right then.
 */
export const garbageGraceMicros = 30 * 1_000_000;
/** How often the grace of garbage that a reader needs is restarted. */
const keepEveryMs = garbageGraceMicros / 1000 / 3;
/**
 * Garbage that is up to this much older than a reader is kept as well. Its time is taken before its
 * commit, so a reader that begins in between still finds the old record.
 */
const slackMicros = garbageGraceMicros;

/** The readers of one blob. */
interface Readings {
  readonly keys: BlobKeys;
  /** When each of them began. */
  readonly beganMicros: Set<{ readonly micros: number }>;
}

interface ReadersOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * The readers of blobs in this process. A reader can finish although the blob, or its container, is
 * overwritten or deleted meanwhile by any process: garbage and dropped containers are not freed
 * before `garbageGraceMicros`, and while a blob is read, its newer garbage is rewritten every third
 * of that time, which restarts the grace. When a process is stopped for longer, its readers fail;
 * they never read wrong bytes.
 */
export class BlobReaders {
  readonly #options: ReadersOptions;
  /** By partition. */
  readonly #readings = new Map<string, Readings>();
  #timer: Timer | undefined;
  #isKeeping = false;

  constructor(options: ReadersOptions) {
    this.#options = options;
  }

  /** Called before the record is read. The returned function ends the reading; idempotent. */
  begin(keys: BlobKeys): () => void {
    const name = nameOfBytes(keys.partition);
    const began = { micros: this.#options.clock.nowMicros() };
    const readings = this.#readings.get(name) ?? { keys, beganMicros: new Set() };
    this.#readings.set(name, readings);
    readings.beganMicros.add(began);
    this.#schedule();
    return () => {
      readings.beganMicros.delete(began);
      if (readings.beganMicros.size > 0) return;
      if (this.#readings.get(name) === readings) this.#readings.delete(name);
      this.#schedule();
    };
  }

  /** Whether a reader of this process may need garbage of this time. */
  needs(partition: Bytes, bornMicros: number): boolean {
    const readings = this.#readings.get(nameOfBytes(partition));
    return readings !== undefined && bornMicros >= neededSince(readings);
  }

  /** Runs a timer while there are readers. */
  #schedule(): void {
    if (this.#readings.size === 0) {
      this.#timer?.close();
      this.#timer = undefined;
    } else if (!this.#isKeeping) {
      this.#timer ??= this.#options.timers.start(keepEveryMs, () => void this.#tick(), undefined);
    }
  }

  async #tick(): Promise<void> {
    this.#timer = undefined;
    this.#isKeeping = true;
    try {
      await this.#keepAll();
    } catch {
      // The next attempt is early enough. If the store keeps failing, the readers fail as well.
    }
    this.#isKeeping = false;
    this.#schedule();
  }

  /** Restarts the grace of all garbage that readers of this process need. */
  async #keepAll(): Promise<void> {
    // The next tick is early enough for readers that begin meanwhile.
    for (const readings of Array.from(this.#readings.values())) {
      await this.#keep(readings.keys, neededSince(readings));
    }
  }

  async #keep(keys: BlobKeys, sinceMicros: number): Promise<void> {
    const { store } = this.#options;
    const dropped = await store.get(droppedKeyOf(keys));
    if (dropped !== undefined) await rewrite(store, dropped);
    for (const range of keys.garbage()) {
      for await (const entry of entriesOf(store, range)) {
        if (bornMicrosOf(entry.value) >= sinceMicros) await rewrite(store, entry);
      }
    }
  }
}

/** Garbage of the blob that is younger than this is needed. */
function neededSince({ beganMicros }: Readings): number {
  let first = Infinity;
  for (const { micros } of beganMicros) first = Math.min(first, micros);
  return first - slackMicros;
}

/** The key of the blob's container in the list of dropped containers. */
function droppedKeyOf({ partition }: BlobKeys): Bytes {
  const [service, account, id] = decodeTuple(partition, 0, 3);
  invariant(
    typeof service === 'string' && typeof account === 'string' && typeof id === 'number',
    'the partition of a blob names its container',
  );
  return droppedContainerKey(service, account, id);
}

/** Gives an entry a new version, unless it has changed or was deleted. */
async function rewrite(store: Store, { key, value, version }: Entry): Promise<void> {
  await store.commit({ checks: [{ key, version }], puts: [{ key, value }], deletes: [] });
}
