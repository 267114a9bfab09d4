// Deleting many rows: by dropping tables of a period, or one by one. See
// docs/guides/patterns/high-volume-delete.md.

export type { Bucket, BucketSet } from './bucket-name.js';
export {
  deleteWhere,
  type DeletedEntities,
  type DeleteOptions,
  type DeleteProgress,
  type DeleteScope,
  type EntityDeleteScope,
} from './delete-where.js';
export type { Period, Retention } from '../../rows/period.js';
export {
  timeBucketsOf,
  type TimeBuckets,
  type BucketEntities,
  type BucketQuery,
  type BucketRange,
  type RotateOptions,
  type Rotation,
  type TimeBucketsOptions,
} from './time-buckets.js';
export { archiveEntities, type ArchiveOptions, type ArchiveReport } from './archive.js';
export { archiveDue, type ArchiveSchedule, type ScheduledArchive } from './archive-schedule.js';
