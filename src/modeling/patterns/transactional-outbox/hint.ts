import { ValueError } from '../../table/errors.js';
import { defineMessage, type MessageType } from '../../worker/message-type.js';

/** Tells a relay where a message may be waiting. It may be late, repeated or unnecessary. */
export interface OutboxHint {
  readonly table: string;
  readonly partitionKey: string;
}

export const OutboxHintMessage: MessageType<OutboxHint, OutboxHint> = defineMessage<
  OutboxHint,
  OutboxHint
>('tabularium.outbox-hint', {
  payload: {
    encode: ({ table, partitionKey }) => ({ table, partitionKey }),
    decode: (payload) => {
      const { table, partitionKey } = Object(payload) as Partial<OutboxHint>;
      if (typeof table === 'string' && typeof partitionKey === 'string') {
        return { table, partitionKey };
      }
      throw new ValueError('a hint has a table and a partitionKey');
    },
  },
});
