// Changes that announce themselves. See docs/guides/patterns/transactional-outbox.md.

export { toHandlers, toQueue, type Dispatch, type DispatchContext } from './dispatch.js';
export type { MessageSink } from './message-sink.js';
export { Outbox, type OutboxMessage, type OutboxOptions } from './outbox.js';
export {
  knownPartitions,
  tableRegistry,
  type OutboxRegistry,
  type TableRegistryOptions,
} from './registry.js';
export {
  hintHandler,
  Relay,
  RelayBlockedError,
  type RelayEvent,
  type RelayOptions,
  type RelayReport,
  type SweepReport,
} from './relay.js';
