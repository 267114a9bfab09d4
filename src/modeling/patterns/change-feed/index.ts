// The changes of a table, in order. See docs/guides/patterns/change-feed.md.

export { changeFeed, type ChangeFeedOptions } from './declared-feed.js';
export { RowsChangedMessage, type RowChangeKind, type RowsChanged } from './rows-changed.js';
export {
  changeFeedOf,
  type ChangeFeed,
  FeedTrimmedError,
  payloadOf,
  type FeedPage,
  type FeedQuery,
} from './change-feed.js';
export { consumerGroupOf, type ConsumerGroup, type ConsumeOptions } from './consumer-group.js';
export type { FeedEvent } from './feed-row.js';
export { trimFeed, type TrimOptions } from './retention.js';
export { feedSinkOf, type FeedMessage, type FeedSinkOptions } from './sequencer.js';
