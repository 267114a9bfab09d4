import { escapeKeyText, unescapeKeyText } from '../../definition/key-escape.js';
import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import { allRows } from '../../table/all-rows.js';
import { putOver, writeIf, writeIfPresent } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';

/** What a manager keeps rows of. */
export type ManagerKind = 'map' | 'operation' | 'reference' | 'shard';

/** The properties of a row, all of them texts. */
export type Texts = Readonly<Record<string, string>>;

export interface ManagerRow {
  readonly name: string;
  readonly texts: Texts;
  readonly etag: string;
}

const partitionKey = reservedPartitionKeys.shardManager;
const rowType = 'ShardManager';

function keyOfRow(kind: ManagerKind, name: string): RowKey {
  return { partitionKey, rowKey: `${kind}_${escapeKeyText(name, '')}` };
}

/** The rows of a manager: (`!shard-manager`, kind and name) of its control table. */
export class ManagerRows {
  readonly #control: TableGateway;

  constructor(control: TableGateway) {
    this.#control = control;
  }

  /** One point read. */
  async find(kind: ManagerKind, name: string): Promise<ManagerRow | undefined> {
    const row = await this.#control.get(keyOfRow(kind, name));
    return row === undefined ? undefined : rowIn(kind, row);
  }

  /** In the order of their names. A range read for each 1,000. */
  async list(kind: ManagerKind): Promise<readonly ManagerRow[]> {
    const found: ManagerRow[] = [];
    const rowKey = rangeWithPrefix(`${kind}_`);
    for await (const row of allRows(this.#control, { partitionKey, rowKey })) {
      const read = rowIn(kind, row);
      if (read !== undefined) found.push(read);
    }
    return found;
  }

  /** One write. False, and nothing was written, when the row is not as it was read any more. */
  put(kind: ManagerKind, name: string, texts: Texts, etag: string | undefined): Promise<boolean> {
    const stored = Object.entries(texts).map(([key, text]) => [key, storedText(text)] as const);
    const row: Row = {
      ...keyOfRow(kind, name),
      properties: { EntityType: storedText(rowType), ...Object.fromEntries(stored) },
    };
    return writeIf(this.#control, putOver(row, etag));
  }

  /** One delete; nothing when there is no such row. */
  async remove(kind: ManagerKind, name: string): Promise<void> {
    const key = keyOfRow(kind, name);
    await writeIfPresent(() => this.#control.write({ kind: 'delete', key, etag: '*' }));
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
