import type { Database } from 'lmdb';
import { getLastVersion } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import { StoreDamagedError } from '../../kv/errors.js';
import type { Entry } from '../../kv/store.js';
import { MalformedTreeError } from './mapped/malformed-tree-error.js';
import { checksumBytes, isIntact, sealed } from './rows/record.js';

/**
 * One tree of the environment. A value is stored behind its version and before its checksum, which
 * every read verifies.
 */
export class Records {
  readonly database: Database<Bytes, Bytes>;
  readonly #file: string;

  constructor(database: Database<Bytes, Bytes>, file: string) {
    this.database = database;
    this.#file = file;
  }

  /** A copy of the entry. Throws `StoreDamagedError` when its checksum does not match. */
  get(key: Bytes): Entry | undefined {
    const found = this.#read(key);
    if (found === undefined) return undefined;
    const version = getLastVersion();
    const stored = viewOf(found);
    if (!isIntact(key, version, stored)) throw this.damaged(key);
    // The package's buffer is overwritten by the next read.
    const value = Buffer.allocUnsafe(found.length - checksumBytes);
    value.set(new Uint8Array(found.buffer, found.byteOffset, value.length));
    return { key, value, version };
  }

  /** The version of an entry, cheaper than the entry. Throws as `get` does. */
  versionOf(key: Bytes): number | undefined {
    const found = this.#read(key);
    if (found === undefined) return undefined;
    const version = getLastVersion();
    if (!isIntact(key, version, viewOf(found))) throw this.damaged(key);
    return version;
  }

  /** True when the stored bytes equal those that `sealed` made. */
  holds(key: Bytes, stored: Bytes): boolean {
    const found = this.#read(key);
    if (found?.length !== stored.length) return false;
    for (let at = 0; at < stored.length; at += 1) if (found[at] !== stored[at]) return false;
    return true;
  }

  /** A view of the package's buffer, valid until the next read. */
  #read(key: Bytes): Bytes | undefined {
    try {
      return this.database.getBinaryFast(key);
    } catch (error) {
      throw this.#told(error);
    }
  }

  put(key: Bytes, value: Bytes, version: number): void {
    this.database.putSync(key, sealed(key, version, value), version);
  }

  remove(key: Bytes): void {
    this.database.removeSync(key);
  }

  /** Ends the snapshot of reads outside of a transaction. */
  endRead(): void {
    this.database.resetReadTxn();
  }

  /** Runs a read. Reports damage that the package finds as `StoreDamagedError`. */
  guard<Result>(read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      throw this.#told(error);
    }
  }

  #told(error: unknown): unknown {
    if (!isDamage(error)) return error;
    return new StoreDamagedError(
      `The data file ${this.#file} is damaged: ${error.message}. ${advice}`,
      { cause: error },
    );
  }

  damaged(key: Bytes): StoreDamagedError {
    const shown = Buffer.from(key).toString('hex');
    return new StoreDamagedError(
      `The data file ${this.#file} is damaged: the value of the key ${shown} does not match its ` +
        `checksum. ${advice}`,
    );
  }
}

/** A new view: the package has overwritten the `length` of its buffer. */
function viewOf({ buffer, byteOffset, length }: Bytes): Bytes {
  return new Uint8Array(buffer, byteOffset, length);
}

const advice =
  'Stop the server, look at the whole file with: tabularium check, and restore a backup of the ' +
  'data directory.';
/** MDB_CORRUPTED, MDB_PAGE_NOTFOUND. */
const damageCodes: ReadonlySet<unknown> = new Set([-30796, -30797]);

function isDamage(error: unknown): error is Error {
  if (error instanceof MalformedTreeError) return true;
  return error instanceof Error && 'code' in error && damageCodes.has(error.code);
}
