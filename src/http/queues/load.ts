import type { PartitionLoad } from '../exchange/request-load.js';

const one: readonly PartitionLoad[] = [{ partitionKey: '', count: 1 }];

/** The load of a request about one message. */
export function oneMessageLoad(): readonly PartitionLoad[] {
  return one;
}

/** The load of a request that returns messages. */
export function messagesLoad(messages: readonly unknown[]): readonly PartitionLoad[] {
  return [{ partitionKey: '', count: messages.length }];
}
