import { createHash } from 'node:crypto';
import { isRecord } from '../../../base/record.js';
import { own } from '../../../base/own.js';
import { ValueError } from '../../rows/model-error.js';
import type { RowKey } from '../../rows/row.js';
import { defineMessage } from '../../worker/message-type.js';

/** An entity that refers to a missing one, by the keys of both and without other values. */
export interface OrphanNote {
  readonly reference: string;
  readonly from: RowKey & { readonly type: string };
  readonly to: RowKey & { readonly type: string };
}

/** The message that `checkReferences` sends for each orphan, for a worker or for people. */
export const OrphanMessage = defineMessage<OrphanNote, OrphanNote>('orphaned-reference', {
  payload: {
    encode: ({ reference, from, to }) => ({ reference, from: { ...from }, to: { ...to } }),
    decode: (payload) => {
      if (!isRecord(payload)) throw new ValueError('the note of an orphan is no object');
      const [from, to] = [payload['from'], payload['to']];
      return { reference: textOf(payload, 'reference'), from: placeIn(from), to: placeIn(to) };
    },
  },
});

function placeIn(value: unknown): OrphanNote['from'] {
  if (!isRecord(value)) throw new ValueError('the note of an orphan lacks an entity');
  return {
    type: textOf(value, 'type'),
    partitionKey: textOf(value, 'partitionKey'),
    rowKey: textOf(value, 'rowKey'),
  };
}

function textOf(record: Readonly<Record<string, unknown>>, name: string): string {
  const value = own(record, name);
  if (typeof value === 'string') return value;
  throw new ValueError(`the note of an orphan lacks '${name}'`);
}

/** The same for every check that finds this version of an entity. */
export function orphanId({ reference, from, to }: OrphanNote, etag: string): string {
  const text = JSON.stringify([reference, from, to, etag]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
