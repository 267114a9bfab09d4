import { unreachable } from '../../../base/invariant.js';
import type { JsonValue } from '../../definition/structured-types.js';
import { ValueError } from '../../table/errors.js';
import type { RowWrite } from '../../table/gateway.js';
import { defineMessage, type MessageType } from '../../worker/message-type.js';

/** The kind of change of a row. `stored`: an upsert, for which the former state is unknown. */
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
 * The message of a table with a `changeFeed`. It names the changed rows; consumers that need their
 * values read them.
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

/** The kind of change that a write makes, as far as the write shows it. */
export function changeOf(kind: RowWrite['kind']): RowChangeKind {
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
