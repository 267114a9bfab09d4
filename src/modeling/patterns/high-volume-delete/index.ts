// Deleting many rows: by dropping tables of a period, or one by one. See
// docs/guides/patterns/high-volume-delete.md.

export type { Bucket, BucketSet } from './bucket-name.js';
export {
  deleteWhere,
  type DeleteOptions,
  type DeleteProgress,
  type DeleteScope,
} from './delete-where.js';
export type { Period, Retention } from './period.js';
export {
  TimeBuckets,
  type BucketQuery,
  type RotateOptions,
  type Rotation,
  type TimeBucketsOptions,
} from './time-buckets.js';
