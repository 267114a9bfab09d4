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
 * How long garbage of blobs stays before it is freed: a reader of any process has found its content
 * by a record that may have been replaced right then.
 */
export const garbageGraceMicros = 30 * 1_000_000;
/** How often a reader makes that time begin anew for what it needs. */
const keepEveryMs = garbageGraceMicros / 1000 / 3;
/** Garbage is stamped before its commit, and readers begin before they find the record. */
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
 * Who is reading blobs in this process. What a reader began to read stays, although the blob is
 * overwritten or deleted meanwhile, alone or with its container, by this process or another one:
 * garbage and dropped containers are not freed before `garbageGraceMicros`, and while somebody reads
 * a blob all that became garbage of it since is written anew every third of that time, so that the
 * grace begins again. A process that is stopped
 * for longer loses its readers: they fail, and read nothing wrong.
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

  /** Whether a reader of this process may need what became garbage then. */
  needs(partition: Bytes, bornMicros: number): boolean {
    const readings = this.#readings.get(nameOfBytes(partition));
    return readings !== undefined && bornMicros >= neededSince(readings);
  }

  /** A timer runs while somebody reads. */
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
      // The next attempt is in time; a store that goes on failing fails the readers as well.
    }
    this.#isKeeping = false;
    this.#schedule();
  }

  /** Lets the grace begin anew for all that readers of this process need. */
  async #keepAll(): Promise<void> {
    // A reader that begins meanwhile is kept by the next tick.
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

/** The time from which garbage of a blob is needed. */
function neededSince({ beganMicros }: Readings): number {
  let first = Infinity;
  for (const { micros } of beganMicros) first = Math.min(first, micros);
  return first - slackMicros;
}

/** Where the container of a blob is listed once it was dropped. */
function droppedKeyOf({ partition }: BlobKeys): Bytes {
  const [service, account, id] = decodeTuple(partition, 0, 3);
  invariant(
    typeof service === 'string' && typeof account === 'string' && typeof id === 'number',
    'the partition of a blob names its container',
  );
  return droppedContainerKey(service, account, id);
}

/** Gives an entry another version. It stays gone when it is. */
async function rewrite(store: Store, { key, value, version }: Entry): Promise<void> {
  await store.commit({ checks: [{ key, version }], puts: [{ key, value }], deletes: [] });
}
