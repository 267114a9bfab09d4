import type { Database } from 'lmdb';
import { equalBytes, type Bytes } from '../../../base/bytes.js';
import { messageOf } from '../../../base/thrown.js';
import { headerBytes, pageBytes } from '../check/page.js';
import { entriesTreeOf } from '../check/check.js';
import { headOf, isEmptyTree, type TreeHead } from '../check/snapshot-head.js';
import type { KeyRange } from '../../../kv/store.js';
import { mapAccess, type MapAccess } from './native-addon.js';
import { MappedPages } from './mapped-pages.js';
import type { MappedRow } from './mapped-row.js';
import { MalformedTreeError } from './malformed-tree-error.js';
import { MappedRows, type MappedTree } from './mapped-rows.js';
import { mapAt, mapOfFile } from './process-maps.js';
import type { VerifiedPages } from './verified-pages.js';

/** Where the lock file has the last transaction, and how much of it is looked at. */
const transactionAt = 8;
const lockBytes = 16;
/** Commits that may end while the tree is looked for. */
const attemptsMax = 4;
/** After this many consecutive ranges that could not be read here, none is tried again. */
const failuresMax = 64;

export interface MappedEntriesOptions {
  /** The tree of the engine's own records, and a key of 16 bytes at most that it has. */
  readonly meta: Database<Bytes, Bytes>;
  readonly key: Bytes;
  readonly lockFile: string;
  readonly verified: VerifiedPages;
}

/** The entries of one moment. */
export class MappedSnapshot {
  readonly #tree: MappedTree | undefined;

  /** `tree`: undefined when there are no entries. */
  constructor(tree: MappedTree | undefined) {
    this.#tree = tree;
  }

  /** The rows of a range, in order; undefined when there are no entries. */
  rows(range: KeyRange): MappedRows | undefined {
    return this.#tree && new MappedRows(this.#tree, range);
  }

  /** The row of a key. Its checksum is not verified. */
  row(key: Bytes): MappedRow | undefined {
    const rows = this.rows({ start: key });
    return rows?.next() === true && equalBytes(rows.row.key, key) ? rows.row : undefined;
  }
}

/**
 * The entries of the newest snapshot, in the pages that the engine has mapped. Reading them there
 * takes no call of the engine and no copy for each row.
 *
 * The engine protects the pages of a snapshot while a reader has this or an older one open. So a
 * snapshot is opened first, and then the newest is looked up as the engine does it: the lock file
 * names the last transaction, and one of the first two pages has its trees. The next transaction
 * writes the other page, so what was read is whole if the lock file still names the same.
 */
export class MappedEntries {
  readonly #options: MappedEntriesOptions;
  readonly #access: MapAccess | undefined = mapAccess();
  #pages: MappedPages | undefined;
  #lock: Uint32Array | undefined;
  #snapshot: MappedSnapshot | undefined;
  #transaction = -1;
  /** Ranges in a row that could not be read here. */
  #failures = 0;
  /** The system does not tell what is mapped. */
  #isOff = false;

  constructor(options: MappedEntriesOptions) {
    this.#options = options;
  }

  /**
   * The newest snapshot, valid until `endRead` of a tree of the environment. Undefined where the
   * system does not tell what is mapped, and before the first commit. Throws `MalformedTreeError`
   * for a damaged file.
   */
  open(): MappedSnapshot | undefined {
    const { meta, key } = this.#options;
    if (this.#isOff) return undefined;
    // Opens the snapshot that protects what is read.
    if (meta.getBinaryFast(key) === undefined) return undefined;
    const lock = (this.#lock ??= this.#mapLock());
    const found = lock && this.#newest(lock);
    this.#failures = found === undefined ? this.#failures + 1 : 0;
    this.#isOff = lock === undefined || this.#failures >= failuresMax;
    return found;
  }

  #newest(lock: Uint32Array): MappedSnapshot | undefined {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const transaction = transactionOf(lock);
      if (transaction === this.#transaction) return this.#snapshot;
      const found = this.#snapshotOf(transaction, lock);
      if (found === undefined) continue;
      this.#transaction = transaction;
      this.#snapshot = found;
      return found;
    }
    return undefined;
  }

  /** Undefined when other transactions have ended meanwhile, or their pages are not mapped. */
  #snapshotOf(transaction: number, lock: Uint32Array): MappedSnapshot | undefined {
    const first = (this.#pages ??= this.#mapPages());
    if (first === undefined) return undefined;
    const number = transaction % 2;
    const isNewest = () => transactionOf(lock) === transaction;
    const head = wellFormed(() => headOf(first.view(number), number), isNewest);
    if (head?.transaction !== transaction || !isNewest()) return undefined;
    if (head.lastPage >= first.count) this.#pages = this.#mapPages();
    const pages = this.#pages;
    if (pages === undefined || head.lastPage >= pages.count) return undefined;
    const tree = wellFormed(() => entriesOf(head.main, pages, head.lastPage), isProtected);
    if (tree === undefined) return undefined;
    if (isEmptyTree(tree)) return new MappedSnapshot(undefined);
    const { root, depth } = tree;
    const { lastPage } = head;
    const { verified } = this.#options;
    return new MappedSnapshot({ pages, root, depth, lastPage, verified });
  }

  /** The map that the engine uses now. */
  #mapPages(): MappedPages | undefined {
    const { meta, key } = this.#options;
    if (meta.getBinaryFast(key) === undefined) return undefined;
    const access = this.#access;
    const database: unknown = Reflect.get(meta, 'dbAddress');
    if (access === undefined || typeof database !== 'number') return undefined;
    const value = access.getSharedByBinary(database, key.length);
    const map = value === undefined ? undefined : mapAt(access.getBufferAddress(value));
    return map === undefined ? undefined : new MappedPages(access, map, this.#pages);
  }

  #mapLock(): Uint32Array | undefined {
    const map = mapOfFile(this.#options.lockFile);
    if (map === undefined || this.#access === undefined) return undefined;
    const { buffer } = this.#access.createBufferForAddress(map.address, lockBytes);
    return new Uint32Array(buffer, transactionAt, 2);
  }
}

function transactionOf(lock: Uint32Array): number {
  return Atomics.load(lock, 0) + Atomics.load(lock, 1) * 2 ** 32;
}

/**
 * Runs a reader of pages that throws an error for malformed pages. Undefined when the pages have
 * been written over meanwhile.
 */
function wellFormed<Result>(read: () => Result, isStill: () => boolean): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (!isStill()) return undefined;
    throw new MalformedTreeError(messageOf(error), { cause: error });
  }
}

/** Pages of a snapshot are not written over. */
const isProtected = (): boolean => true;

/** The tree of the entries; undefined when the file is not one of a store. */
function entriesOf(main: TreeHead, pages: MappedPages, lastPage: number): TreeHead | undefined {
  if (main.depth !== 1 || main.root > lastPage) return undefined;
  const page = pages.view(main.root);
  return page.lower > pageBytes - headerBytes ? undefined : entriesTreeOf(page);
}
