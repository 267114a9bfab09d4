// Secondary indexes: the part that programs use.

export { samePartition } from './intra-partition-index.js';
export { otherPartition } from './inter-partition-index.js';
export { indexTable } from './index-tables.js';
export { indexEntity } from './index-entity.js';
export { openListBlobs, type ListBlobs } from '../index-entities/list-blobs.js';
export type { AnyIndex, AnyIndexes, CopyIndex, ListIndex, RowPlace } from './index-declaration.js';
export { withIndexes, type IndexedDefinition } from './with-indexes.js';
export {
  type IndexedEntities,
  indexedEntitiesOf,
  type IndexedPlaces,
  type LookUps,
} from './indexed-entities.js';
export { type CopyLookUp, type ListLookUp, type LoadOptions } from './look-ups.js';
export { IndexValueTakenError } from './index-errors.js';
export type { BackfillPage } from './index-backfill.js';
export type { CheckOptions, CheckPage } from './index-check.js';
export type { Drift } from './index-drift.js';
export type { IndexIntent } from './index-intent.js';
export type { IntentOutbox } from './index-outbox.js';
