// Changes that announce themselves. See docs/guides/patterns/transactional-outbox.md.

export { toHandlers, toQueue, type Dispatch, type DispatchContext } from './dispatch.js';
export type { MessageSink } from './message-sink.js';
export { outboxOf, type Outbox, type OutboxMessage, type OutboxOptions } from './outbox.js';
export {
  knownPartitions,
  tableRegistryOf,
  type OutboxRegistry,
  type TableRegistryOptions,
} from './registry.js';
export {
  hintHandlerOf,
  relayOf,
  type Relay,
  RelayBlockedError,
  type RelayEvent,
  type RelayOptions,
  type RelayReport,
  type SweepReport,
} from './relay.js';
