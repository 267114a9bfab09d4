// Shards and named maps over them. See docs/guides/patterns/shard-map-manager.md.

export type {
  KeyedRouting,
  ShardKeyType,
  ShardKeyValues,
} from '../../../placement/typed-routing.js';
export type { ShardBackup } from './backup-list.js';
export type {
  BackupProgress,
  BackupReport,
  BackupSchedule,
  ShardBackups,
} from './shard-backups.js';
export type { RestoreProgress } from './restore-progress.js';
export type { RestoreOfShard } from './shard-restore.js';
export {
  backupBlobs,
  backupFiles,
  type BackupFilesOptions,
  type BackupStore,
} from './backup-store.js';
export type { ManagedMap } from './managed-map.js';
export {
  ManagerError,
  MapSchemaError,
  OperationError,
  ShardClosedError,
} from './manager-errors.js';
export type { BeginOptions, MapOperations, RunOptions } from './map-operations.js';
export type { ShardMapManagerOptions } from './manager-options.js';
export type { MapInfo } from './map-info.js';
export type { LostMap, MapRebuild } from './map-rebuild.js';
export {
  reference,
  sharded,
  type MapSchema,
  type ReferenceType,
  type ShardedType,
  type ShardKeyText,
} from './map-schema.js';
export type {
  Operation,
  OperationMode,
  OperationStatus,
  OperationStep,
} from './operation-record.js';
export type { Distribution, ReferenceDifference, ReferenceTable } from './reference-table.js';
export { backUpShard, restoreShard, type RestoreOptions } from './shard-backup.js';
export type { AttachOptions, AttachReport } from './shard-attach.js';
export type { ShardLocation } from './shard-location.js';
export { shardMapManagerOf, type NewMap, type ShardMapManager } from './shard-map-manager.js';
export type { ShardDescription, ShardInfo, ShardStatus } from './shard-statuses.js';
