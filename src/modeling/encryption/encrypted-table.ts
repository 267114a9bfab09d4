import { requireCounts } from '../definition/count.js';
import { setOwn } from '../../base/own.js';
import { systemClock, type Clock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import type { Row, RowKey, StoredRow, WireValue } from '../rows/row.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import { whereStored, type Filter } from '../table/filter.js';
import { inOrder } from '../table/in-order.js';
import type {
  EncryptedNames,
  RowPage,
  RowQuery,
  RowWrite,
  TableGateway,
  WriteResult,
} from '../table/gateway.js';
import { DeterministicKeys, type DeterministicKeyRecord } from './deterministic-keys.js';
import { EncryptionError } from './encryption-error.js';
import { envelopeOf, envelopeProperty, renderEnvelope } from './envelope.js';
import { idOf, type KeyRing } from './key-wrapper.js';
import { legacyProperties, openLegacyRow } from './legacy-row.js';
import { encryptEqual, type ValueAlgorithm } from './property-cipher.js';
import { openRow, sealRow, wrapContentKey, type RowKeys } from './row-cipher.js';
import { UnwrappedKeys, type KeyCacheOptions } from './unwrapped-keys.js';

/** Decides whether a property, by its stored name, is encrypted. */
export type EncryptionResolver = (
  partitionKey: string,
  rowKey: string,
  property: string,
) => boolean;

/**
 * Properties that can be looked up by equality although they are encrypted.
 *
 * **Weaker than the rest.** Equal values of a property have equal bytes in every row. A reader of
 * the table sees which rows share a value and how often each occurs, and can guess the values of a
 * property that has few. A value can be copied to another row unnoticed. Use it for identifiers
 * with many values, such as mail addresses; not for a gender, a grade or a salary.
 */
export interface DeterministicOptions {
  /** Stored names. The definition or the resolver must encrypt them as well. */
  readonly properties: readonly string[];
  /** Records of `createDeterministicKey`. The first encrypts, all are used for lookups. */
  readonly keys: readonly DeterministicKeyRecord[];
}

/**
 * `attemptsMax` and `timers` apply to conflicts of `rewrap`; `randomness` also makes keys and
 * nonces.
 */
export interface EncryptionOptions extends ContentionOptions {
  readonly keys: KeyRing;
  /** Chooses properties besides those that definitions mark as encrypted. */
  readonly resolver?: EncryptionResolver;
  readonly deterministic?: DeterministicOptions;
  /**
   * What to do with a plain value of a property that should be encrypted, by the resolver or its
   * definition: 'refuse' the row, the default, or 'accept' it, while a table is being encrypted.
   * With 'accept', plain values that an attacker wrote are not detected.
   */
  readonly unencrypted?: 'refuse' | 'accept';
  /**
   * What to do with rows that the retired client libraries encrypted: 'refuse', the default, or
   * 'accept' and read them. Their format does not detect tampering.
   */
  readonly legacy?: 'refuse' | 'accept';
  /** 1,000 keys, each for 5 minutes, when absent. */
  readonly cache?: Partial<KeyCacheOptions>;
  /**
   * Rows of a page or transaction whose keys are wrapped or unwrapped concurrently; 16 when absent.
   */
  readonly concurrency?: number;
  readonly clock?: Clock;
}

const concurrencyDefault = 16;
const cacheDefaults: KeyCacheOptions = { entriesMax: 1000, maxAgeMs: 300_000 };

/** The result of `rewrap`. */
export type RewrapResult = 'rewrapped' | 'already-current' | 'not-encrypted' | 'absent';

/**
 * A table whose rows are encrypted before they leave the process and decrypted after they arrive,
 * for all its readers and writers. Sends what `table` sends, and calls the key-encryption keys: one
 * `wrapKey` for each row written with something to encrypt, and one `unwrapKey` for each row read,
 * unless its content key is cached. Errors of a `KeyWrapper` are passed on.
 */
export function withEncryption(table: TableGateway, options: EncryptionOptions): EncryptedTable {
  return new EncryptedTable(table, options);
}

/**
 * Refuses merges of encrypted properties: a merge keeps the other properties of the row, and would
 * replace their content key. Otherwise a gateway like any other.
 */
export class EncryptedTable implements TableGateway {
  readonly table: string;
  readonly encrypts: EncryptedNames = (row) => Object.keys(this.#algorithmsOf(row));
  readonly storesLargeValues: boolean | undefined;
  readonly writesMax: number | undefined;
  readonly confirm: TableGateway['confirm'];
  readonly #inner: TableGateway;
  readonly #options: EncryptionOptions;
  readonly #keys: RowKeys;
  readonly #deterministic: ReadonlySet<string>;
  readonly #concurrency: number;

  constructor(inner: TableGateway, options: EncryptionOptions) {
    const { clock = systemClock, randomness = systemRandomness, keys, deterministic } = options;
    requireCounts({ concurrency: options.concurrency });
    requireCounts({ 'cache.entriesMax': options.cache?.entriesMax }, { min: 0 });
    idOf(keys.current.wrapper);
    const unwrapped = new UnwrappedKeys(keys, clock, { ...cacheDefaults, ...options.cache });
    this.table = inner.table;
    this.storesLargeValues = inner.storesLargeValues;
    this.writesMax = inner.writesMax;
    this.confirm = inner.confirm?.bind(inner);
    this.#inner = inner;
    this.#options = options;
    this.#deterministic = new Set(deterministic?.properties);
    this.#concurrency = options.concurrency ?? concurrencyDefault;
    this.#keys = {
      table: inner.table,
      current: keys.current,
      unwrapped,
      deterministic: new DeterministicKeys(deterministic?.keys ?? [], (...wrapped) =>
        unwrapped.unwrapWith(...wrapped),
      ),
      randomness,
    };
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const row = await this.#inner.get(key, withEnvelope(select));
    return row === undefined ? undefined : this.open(row);
  }

  async write(write: RowWrite): Promise<WriteResult> {
    const { etag } = await this.#inner.write(await this.#sealWrite(write));
    return { etag };
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const concurrency = this.#concurrency;
    const sealed = await inOrder(writes, concurrency, (write) => this.#sealWrite(write));
    const results = await this.#inner.transact(sealed);
    return results.map(({ etag }) => ({ etag }));
  }

  /**
   * Calls no key, and so encrypts nothing: limits that depend on the size of encrypted values are
   * checked by `transact`.
   */
  async check(writes: readonly RowWrite[]): Promise<void> {
    for (const write of writes) {
      if (write.kind === 'delete') continue;
      if (write.kind === 'merge' || write.kind === 'upsert-merge') this.#refuseMerge(write.row);
      refuseReserved(write.row);
    }
    await this.#inner.check?.(writes.map((write) => this.#withoutEncrypted(write)));
  }

  async page(query: RowQuery): Promise<RowPage> {
    const select = withEnvelope(query.select);
    const page = await this.#inner.page(select === undefined ? query : { ...query, select });
    const rows = await inOrder(page.rows, this.#concurrency, (row) => this.open(row));
    return { ...page, rows };
  }

  /** Encrypts a row for storage. Sends nothing; at most one `wrapKey`. */
  async seal(row: Row): Promise<Row> {
    refuseReserved(row);
    return sealRow(this.#keys, row, this.#algorithmsOf(row));
  }

  /** Decrypts a stored row. Sends nothing; at most one `unwrapKey`. */
  async open(row: StoredRow): Promise<StoredRow> {
    const isLegacy = Object.hasOwn(row.properties, legacyProperties[0]);
    if (isLegacy && this.#options.legacy !== 'accept') {
      throw new EncryptionError(
        `${describe(row)} was encrypted by a retired client library: pass legacy: 'accept' to read it`,
      );
    }
    const opened = isLegacy
      ? await openLegacyRow(this.#keys.unwrapped, row)
      : await openRow(this.#keys, row);
    if (this.#options.unencrypted === 'accept') return { ...opened, acceptsPlain: true };
    this.#refusePlain(opened);
    return opened;
  }

  /**
   * Wraps the content key of a row with the current key-encryption key and changes nothing else.
   * Sends one point read, one `unwrapKey`, one `wrapKey` and one update under the ETag that was
   * read; starts again when the row has changed meanwhile. A row that is already current takes only
   * the point read. Deterministic properties keep their key until they are written again.
   */
  rewrap(key: RowKey): Promise<RewrapResult> {
    return retryConflicts(`rewrapping a row of ${this.table}`, this.#options, async () => {
      const row = await this.#inner.get(key, [envelopeProperty]);
      if (row === undefined) return 'absent';
      const sealed = await this.#rewrapped(row);
      if (typeof sealed === 'string') return sealed;
      await this.#inner.write({ kind: 'merge', row: sealed, etag: row.etag });
      return 'rewrapped';
    });
  }

  async #rewrapped(row: StoredRow): Promise<Row | 'already-current' | 'not-encrypted'> {
    const envelope = envelopeOf(row.properties);
    if (envelope === undefined) return 'not-encrypted';
    const { contentKey } = envelope;
    const { current } = this.#keys;
    if (contentKey === undefined || contentKey.keyId === idOf(current.wrapper)) {
      return 'already-current';
    }
    const plainKey = await this.#keys.unwrapped.unwrap(contentKey);
    const wrapped = await wrapContentKey(current, plainKey);
    if (wrapped.keyId === contentKey.keyId) return 'already-current';
    const value = renderEnvelope({ ...envelope, contentKey: wrapped });
    const { partitionKey, rowKey } = row;
    return { partitionKey, rowKey, properties: { [envelopeProperty]: { type: 'String', value } } };
  }

  /**
   * A filter for the rows whose deterministic property has a value, whichever of the keys encrypted
   * it. Sends nothing; one `unwrapKey` for each key, ever.
   */
  async equalTo(property: string, value: WireValue): Promise<Filter> {
    if (!this.#deterministic.has(property)) {
      throw new EncryptionError(
        `'${property}' cannot be looked up: only properties listed in 'deterministic' can`,
      );
    }
    const { table, deterministic } = this.#keys;
    const keys = await Promise.all(deterministic.ids.map((id) => deterministic.keyOf(id)));
    const [first, ...others] = keys.map((key) => {
      const bytes = encryptEqual(key, { table, property }, value);
      return whereStored(property, 'eq', { type: 'Binary', value: bytes });
    });
    if (first === undefined) throw new EncryptionError('There is no deterministic key');
    return others.length === 0 ? first : first.or(...others);
  }

  async #sealWrite(write: RowWrite): Promise<RowWrite> {
    if (write.kind === 'delete') return { kind: 'delete', key: write.key, etag: write.etag };
    if (write.kind === 'merge' || write.kind === 'upsert-merge') this.#refuseMerge(write.row);
    const row = await this.seal(write.row);
    // The write without the row from which it was made, because that row is not encrypted.
    return 'etag' in write
      ? { kind: write.kind, row, etag: write.etag }
      : { kind: write.kind, row };
  }

  /** The write without the properties to encrypt, which the table beneath gets unchanged. */
  #withoutEncrypted(write: RowWrite): RowWrite {
    if (write.kind === 'delete') return write;
    const { encrypt: _, ...row } = write.row;
    const encrypted = this.#algorithmsOf(write.row);
    const plain = Object.entries(row.properties).filter(
      ([name]) => !Object.hasOwn(encrypted, name),
    );
    return { ...write, row: { ...row, properties: Object.fromEntries(plain) } };
  }

  #refuseMerge(row: Row): void {
    const names = [...(row.encrypt ?? []), ...Object.keys(this.#algorithmsOf(row))];
    if (names.length === 0) return;
    throw new EncryptionError(
      `${describe(row)} is encrypted ('${names[0]}') and cannot be merged: the properties that a ` +
        'merge keeps would lose their key. Use replace or update',
    );
  }

  #algorithmsOf(row: Row): Readonly<Record<string, ValueAlgorithm>> {
    const marked = new Set(row.encrypt);
    const algorithms: Record<string, ValueAlgorithm> = {};
    for (const name of Object.keys(row.properties)) {
      if (!marked.has(name) && !this.#isChosen(row, name)) continue;
      setOwn(algorithms, name, this.#deterministic.has(name) ? 'A256SIV' : 'A256GCM');
    }
    return algorithms;
  }

  #isChosen({ partitionKey, rowKey }: RowKey, name: string): boolean {
    return this.#options.resolver?.(partitionKey, rowKey, name) === true;
  }

  #refusePlain(row: StoredRow): void {
    const encrypted = new Set(row.encrypt);
    const plain = Object.keys(row.properties).find(
      (name) => !encrypted.has(name) && this.#isChosen(row, name),
    );
    if (plain === undefined) return;
    throw new EncryptionError(
      `'${plain}' of ${describe(row)} should be encrypted and is stored in plain. ` +
        "While a table is being encrypted, pass unencrypted: 'accept'",
    );
  }
}

function withEnvelope(select: readonly string[] | undefined): readonly string[] | undefined {
  return select === undefined ? undefined : [...select, envelopeProperty, ...legacyProperties];
}

function refuseReserved({ properties }: Row): void {
  const reserved = [envelopeProperty, ...legacyProperties].find((name) =>
    Object.hasOwn(properties, name),
  );
  if (reserved === undefined) return;
  throw new EncryptionError(`A property cannot be named ${reserved}: encryption uses the name`);
}

function describe({ partitionKey, rowKey }: RowKey): string {
  return `The row ('${partitionKey}', '${rowKey}')`;
}
