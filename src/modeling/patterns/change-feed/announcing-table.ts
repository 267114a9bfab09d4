import { unreachable } from '../../../base/invariant.js';
import type { JsonValue } from '../../definition/structured-types.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { TooLargeError, ValueError } from '../../table/errors.js';
import { writeInTransaction } from '../../table/failure-of-one.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import { defineMessage, type MessageType } from '../../worker/message-type.js';
import type { Outbox } from '../transactional-outbox/outbox.js';

/** What happened to a row. `stored`: an upsert, which does not know the former state. */
export type RowChangeKind = 'inserted' | 'replaced' | 'merged' | 'stored' | 'deleted';

/** Rows of one partition that were changed together. */
export interface RowsChanged {
  readonly partitionKey: string;
  readonly rows: readonly { readonly rowKey: string; readonly change: RowChangeKind }[];
}

const changeKinds: readonly RowChangeKind[] = [
  'inserted',
  'replaced',
  'merged',
  'stored',
  'deleted',
];

/**
 * The message of `announcingTableOf`. It names the changed rows; consumers that need their values read
 * them.
 */
export const RowsChangedMessage: MessageType<RowsChanged, RowsChanged> = defineMessage<
  RowsChanged,
  RowsChanged
>('tabularium.rows-changed', {
  payload: {
    encode: ({ partitionKey, rows }) => ({
      partitionKey,
      rows: rows.map(({ rowKey, change }) => [rowKey, change]),
    }),
    decode: (payload) => {
      const { partitionKey, rows } = Object(payload) as Readonly<Record<string, JsonValue>>;
      if (typeof partitionKey === 'string' && Array.isArray(rows)) {
        return { partitionKey, rows: rows.map(readChange) };
      }
      throw new ValueError('changed rows have a partitionKey and a list of rows');
    },
  },
});

function readChange(pair: JsonValue): { rowKey: string; change: RowChangeKind } {
  const [rowKey, kind] = Array.isArray(pair) ? (pair as readonly JsonValue[]) : [];
  const change = changeKinds.find((each) => each === kind);
  if (typeof rowKey === 'string' && change !== undefined) return { rowKey, change };
  throw new ValueError(`${JSON.stringify(pair)} is no pair of a RowKey and a change`);
}

/**
 * A table that announces every write: each becomes a transaction with a message that names the
 * changed rows. Its users need not know. A read sends what the table sends; a write sends what
 * `Outbox.transact` does. A transaction has at most 99 writes, one less.
 */
export function announcingTableOf(outbox: Outbox): TableGateway {
  return new AnnouncingTable(outbox);
}

class AnnouncingTable implements TableGateway {
  readonly table: string;
  readonly #outbox: Outbox;

  constructor(outbox: Outbox) {
    this.table = outbox.table.table;
    this.#outbox = outbox;
  }

  get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#outbox.table.get(key, select);
  }

  page(query: RowQuery): Promise<RowPage> {
    return this.#outbox.table.page(query);
  }

  write(write: RowWrite): Promise<WriteResult> {
    return writeInTransaction(this, write);
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const [first] = writes;
    if (first === undefined) return this.#outbox.table.transact(writes);
    if (writes.length >= transactionWritesMax) {
      throw new TooLargeError(
        `a transaction that announces itself holds at most ${transactionWritesMax - 1} writes`,
      );
    }
    const { partitionKey } = keyOfWrite(first);
    const rows = writes.map((write) => ({
      rowKey: keyOfWrite(write).rowKey,
      change: changeOf(write.kind),
    }));
    const changed = { partitionKey, rows };
    const message = await this.#outbox.message(partitionKey, RowsChangedMessage, changed);
    return this.#outbox.transact(writes, [message]);
  }
}

function changeOf(kind: RowWrite['kind']): RowChangeKind {
  switch (kind) {
    case 'insert':
      return 'inserted';
    case 'replace':
      return 'replaced';
    case 'merge':
      return 'merged';
    case 'upsert-replace':
    case 'upsert-merge':
      return 'stored';
    case 'delete':
      return 'deleted';
    default:
      return unreachable(kind);
  }
}
