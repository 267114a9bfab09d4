import { escapeKeyText, unescapeKeyText } from '../../definition/key-escape.js';
import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import { sameContent } from '../../rows/same-value.js';
import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import { allRows } from '../../table/all-rows.js';
import { putOver, transactIf, writeIf, writeIfPresent } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import { copyControlRow, forEachCopy, readReachable } from '../shard-map/control-copies.js';

/** What a manager keeps rows of. */
export type ManagerKind = 'backup' | 'map' | 'operation' | 'reference' | 'restore' | 'shard';

/** The properties of a row, all of them texts. */
export type Texts = Readonly<Record<string, string>>;

export interface ManagerRow {
  readonly name: string;
  readonly texts: Texts;
  readonly etag: string;
}

/** A row to be written over the one that was read; without an ETag over none. */
export interface ManagerPut {
  readonly kind: ManagerKind;
  readonly name: string;
  readonly texts: Texts;
  readonly etag: string | undefined;
}

const partitionKey = reservedPartitionKeys.shardManager;
const rowType = 'ShardManager';

function keyOfRow(kind: ManagerKind, name: string): RowKey {
  return { partitionKey, rowKey: `${kind}_${escapeKeyText(name, '')}` };
}

/** The rows of a manager: (`!shard-manager`, kind and name) of its control table. */
export class ManagerRows {
  readonly #control: TableGateway;
  readonly #copies: readonly TableGateway[];

  /** `copies` of the control table are read while that cannot be reached, where it is said. */
  constructor(control: TableGateway, copies: readonly TableGateway[] = []) {
    this.#control = control;
    this.#copies = copies;
  }

  /** One point read. */
  find(kind: ManagerKind, name: string): Promise<ManagerRow | undefined> {
    return findIn(this.#control, kind, name);
  }

  /**
   * As `find`, but reads a copy when the control table cannot be reached. A copy may be out of
   * date, so no write may depend on the result.
   */
  findReachable(kind: ManagerKind, name: string): Promise<ManagerRow | undefined> {
    return readReachable(this.#control, this.#copies, (table) => findIn(table, kind, name));
  }

  /** In the order of their names. A range read for each 1,000. */
  list(kind: ManagerKind): Promise<readonly ManagerRow[]> {
    return listIn(this.#control, kind);
  }

  /**
   * As `list`, but reads a copy when the control table cannot be reached. A copy may be out of
   * date, so no write may depend on the result.
   */
  async listReachable(kind: ManagerKind): Promise<readonly ManagerRow[]> {
    const found = await readReachable(this.#control, this.#copies, async (table) => {
      const rows = await listIn(table, kind);
      return rows.length === 0 ? undefined : rows;
    });
    return found ?? [];
  }

  /**
   * Brings the copies up to date, with the maps themselves. Range reads of both sides, and three
   * requests for each row that differs. Throws `MapCopyError` for copies that cannot be reached,
   * after the others.
   */
  copy(): Promise<void> {
    return forEachCopy(this.#copies, (copy) => copyControlRows(this.#control, copy));
  }

  /** One write. False, and nothing was written, when the row is not as it was read any more. */
  put(kind: ManagerKind, name: string, texts: Texts, etag: string | undefined): Promise<boolean> {
    return this.putAll([{ kind, name, texts, etag }]);
  }

  /** As `put`, of several rows in one transaction: all of them or none. */
  putAll(puts: readonly ManagerPut[]): Promise<boolean> {
    const writes = puts.map(({ etag, ...put }) => putOver(rowOf(put), etag));
    return transactIf(this.#control, writes);
  }

  /** One delete; nothing when there is no such row. */
  async remove(kind: ManagerKind, name: string): Promise<void> {
    const key = keyOfRow(kind, name);
    await writeIfPresent(() => this.#control.write({ kind: 'delete', key, etag: '*' }));
  }

  /** One delete. False, and nothing was deleted, when the row is not as it was read any more. */
  removeRead(kind: ManagerKind, { name, etag }: ManagerRow): Promise<boolean> {
    return writeIf(this.#control, { kind: 'delete', key: keyOfRow(kind, name), etag });
  }
}

function rowOf({ kind, name, texts }: Omit<ManagerPut, 'etag'>): Row {
  const stored = Object.entries(texts).map(([key, text]) => [key, storedText(text)] as const);
  return {
    ...keyOfRow(kind, name),
    properties: { EntityType: storedText(rowType), ...Object.fromEntries(stored) },
  };
}

async function findIn(
  table: TableGateway,
  kind: ManagerKind,
  name: string,
): Promise<ManagerRow | undefined> {
  const row = await table.get(keyOfRow(kind, name));
  return row === undefined ? undefined : rowIn(kind, row);
}

async function listIn(table: TableGateway, kind: ManagerKind): Promise<readonly ManagerRow[]> {
  const found: ManagerRow[] = [];
  const rowKey = rangeWithPrefix(`${kind}_`);
  for await (const row of allRows(table, { partitionKey, rowKey })) {
    const read = rowIn(kind, row);
    if (read !== undefined) found.push(read);
  }
  return found;
}

async function copyControlRows(control: TableGateway, copy: TableGateway): Promise<void> {
  for (const partition of [partitionKey, reservedPartitionKeys.shardMap]) {
    const there = new Map<string, StoredRow>();
    for await (const row of allRows(copy, { partitionKey: partition })) there.set(row.rowKey, row);
    const other: string[] = [];
    for await (const row of allRows(control, { partitionKey: partition })) {
      const copied = there.get(row.rowKey);
      there.delete(row.rowKey);
      if (copied === undefined || !sameContent(row, copied)) other.push(row.rowKey);
    }
    for (const rowKey of [...other, ...there.keys()]) {
      await copyControlRow(control, copy, { partitionKey: partition, rowKey });
    }
  }
}

/** Undefined for a row of another program. */
function rowIn(kind: ManagerKind, { rowKey, properties, etag }: StoredRow): ManagerRow | undefined {
  const name = unescapeKeyText(rowKey.slice(kind.length + 1), '');
  if (name === undefined || textIn(properties, 'EntityType') !== rowType) return undefined;
  const texts: Record<string, string> = {};
  for (const key of Object.keys(properties)) {
    const text = textIn(properties, key);
    if (text !== undefined && key !== 'EntityType') texts[key] = text;
  }
  return { name, texts, etag };
}
