import type { Clock } from '../../src/base/clock.js';
import { openMemoryStore, type MemoryStore } from '../../src/engines/memory/store.js';
import { StoreFailedError, StoreWriteError } from '../../src/kv/errors.js';
import type { Entry } from '../../src/kv/store.js';
import type { SimRandom } from '../support/sim-random.js';
import {
  bucketCount,
  bucketOf,
  decodeBucket,
  decodeRoot,
  emptyRoot,
  encodeBucket,
  encodeRoot,
  pageBytes,
  rootSlots,
  type Extent,
  type Root,
} from './data-pages.js';
import { Wrong } from './ledger.js';
import type { Process } from './model-disk.js';
import { tear, type DiskWrite } from './sectors.js';
import { entriesOf } from './work.js';

/** A bucket that a transaction changes, and where it writes it. */
interface Written {
  readonly bucket: number;
  readonly extent: Extent;
  readonly bytes: Buffer;
}

/**
 * A data file, on the same disk as the journal, that is written like that of the engine: a
 * transaction writes what it changes to pages that neither of the last two transactions has, syncs
 * them, and then writes durably the root that names them. It outlives the processes that use it.
 */
export class ModelData {
  /** The process that opened the file last; only it may write. */
  owner: Process | undefined;
  readonly #clock: Clock;
  /** What a process sees: the system has it, and perhaps the disk. */
  #store: MemoryStore;
  #root: Root = emptyRoot;
  #before: Root = emptyRoot;
  #buckets: readonly Buffer[];
  /** What is certainly on the disk. */
  #content: Buffer = Buffer.alloc(rootSlots * pageBytes);
  /** Writes since the last sync: each may be on the disk completely, partly or not at all. */
  #doubtful: DiskWrite[] = [];
  #writer: Process | undefined;

  private constructor(clock: Clock, store: MemoryStore) {
    this.#clock = clock;
    this.#store = store;
    this.#buckets = Array.from({ length: bucketCount }, () => Buffer.alloc(0));
  }

  static async empty(clock: Clock): Promise<ModelData> {
    return new ModelData(clock, await openMemoryStore({ clock }));
  }

  get store(): MemoryStore {
    return this.#store;
  }

  /** A transaction. Another process sees it from the moment on when its root is written. */
  async write(process: Process, change: (store: MemoryStore) => Promise<void>): Promise<void> {
    await this.#lock(process);
    try {
      this.#assertWritable(process);
      const next = await this.#copy();
      await change(next);
      const buckets = await bucketsOf(next);
      // From here on all happens in steps: a process that has ended does none.
      await process.schedule.step();
      const written = this.#place(buckets);
      await this.#writePages(process, written);
      await this.#writeRoot(process, next, written);
    } finally {
      if (this.#writer === process) this.#writer = undefined;
    }
  }

  /** Decides everything that was uncertain. Throws `Wrong` when the file is damaged then. */
  async losePower(random: SimRandom): Promise<void> {
    for (const write of this.#doubtful) tear(this.#content, write, random);
    this.#doubtful = [];
    this.#writer = undefined;
    const roots = Array.from({ length: rootSlots }, (_, slot) => decodeRoot(this.#content, slot));
    const [before = emptyRoot, root = emptyRoot] = roots.toSorted(
      (left, right) => left.transaction - right.transaction,
    );
    this.#root = root;
    this.#before = before.transaction === root.transaction - 1 ? before : root;
    await this.#load(root);
  }

  async #load({ transaction, lastVersion, extents }: Root): Promise<void> {
    const entries: Entry[] = [];
    const buckets = extents.map(({ page, pages }) =>
      Buffer.from(this.#content.subarray(page * pageBytes, (page + pages) * pageBytes)),
    );
    for (const [bucket, bytes] of buckets.entries()) {
      const found = decodeBucket(bucket, bytes);
      if (found === undefined) {
        throw new Wrong(`transaction ${transaction} of the data file names what was not written`);
      }
      entries.push(...found);
    }
    this.#buckets = buckets;
    this.#store = await openMemoryStore({ clock: this.#clock });
    await this.#store.ingest({ entries, deletes: [], floor: lastVersion });
  }

  /** Waits until no process is within a transaction; one that has died is in none. */
  async #lock(process: Process): Promise<void> {
    while (this.#writer !== undefined && !this.#writer.schedule.isOver) {
      await process.schedule.step();
    }
    this.#writer = process;
  }

  #assertWritable({ random, faults }: Process): void {
    if (random.chance(faults.baseRefuses)) throw new StoreWriteError('ENOSPC');
  }

  async #copy(): Promise<MemoryStore> {
    const copy = await openMemoryStore({ clock: this.#clock });
    await copy.restoreSnapshot(await this.#store.takeSnapshot());
    await copy.ingest({ entries: [], deletes: [], floor: await this.#store.lastVersion() });
    return copy;
  }

  /** Finds pages for the buckets that differ from those of the last transaction. */
  #place(buckets: readonly Buffer[]): readonly Written[] {
    const inUse = [...this.#root.extents, ...this.#before.extents, { page: 0, pages: rootSlots }];
    const written: Written[] = [];
    for (const [bucket, bytes] of buckets.entries()) {
      if (this.#buckets[bucket]?.equals(bytes) === true) continue;
      const pages = bytes.length / pageBytes;
      const extent = { page: pages === 0 ? 0 : firstFit(pages, inUse), pages };
      inUse.push(extent);
      written.push({ bucket, extent, bytes });
    }
    return written;
  }

  async #writePages(process: Process, written: readonly Written[]): Promise<void> {
    const { schedule, drops } = process;
    for (const { extent, bytes } of written) {
      this.#put({ position: extent.page * pageBytes, bytes });
    }
    await schedule.step();
    // The pages are there, and nothing names them.
    this.#assertWritable(process);
    if (drops.baseOrder) return;
    const writes = [...this.#doubtful];
    await schedule.step();
    this.#settle(writes);
  }

  async #writeRoot(
    process: Process,
    next: MemoryStore,
    written: readonly Written[],
  ): Promise<void> {
    const { schedule, drops } = process;
    if (this.owner !== process) throw new StoreFailedError('another process has the data');
    const transaction = this.#root.transaction + 1;
    const extents = [...this.#root.extents];
    const buckets = [...this.#buckets];
    for (const { bucket, extent, bytes } of written) {
      extents[bucket] = extent;
      buckets[bucket] = bytes;
    }
    const root = { transaction, lastVersion: await next.lastVersion(), extents };
    const position = (transaction % rootSlots) * pageBytes;
    const write = { position, bytes: encodeRoot(root) };
    this.#put(write);
    this.#store = next;
    this.#before = this.#root;
    this.#root = root;
    this.#buckets = buckets;
    await schedule.step();
    if (!drops.baseSync) this.#settle([write]);
  }

  #put(write: DiskWrite): void {
    const end = write.position + write.bytes.length;
    const more = Math.max(0, end - this.#content.length);
    if (more > 0) this.#content = Buffer.concat([this.#content, Buffer.alloc(more)]);
    this.#doubtful.push(write);
  }

  /** A sync of these writes has ended. */
  #settle(writes: readonly DiskWrite[]): void {
    for (const { position, bytes } of writes) this.#content.set(bytes, position);
    this.#doubtful = this.#doubtful.filter((each) => !writes.includes(each));
  }
}

async function bucketsOf(store: MemoryStore): Promise<readonly Buffer[]> {
  const buckets = Array.from({ length: bucketCount }, (): Entry[] => []);
  for await (const entry of entriesOf(store, false)) buckets[bucketOf(entry.key)]?.push(entry);
  return buckets.map((entries, bucket) => encodeBucket(bucket, entries));
}

/** The first place with so many pages that none of these extents has. */
function firstFit(pages: number, inUse: readonly Extent[]): number {
  let page = 0;
  for (const each of inUse.toSorted((left, right) => left.page - right.page)) {
    if (each.pages === 0) continue;
    if (each.page - page >= pages) return page;
    page = Math.max(page, each.page + each.pages);
  }
  return page;
}
