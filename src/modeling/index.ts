// Table design, typed: definitions, operations, and the patterns that need no more. Each family of
// other patterns exports from the `index.ts` of its folder, by a path of its own in the package.

export { defineEntity } from './definition/entity-definition.js';
export type {
  AnyDefinition,
  EntityDefinition,
  KeyFields,
  SystemOptions,
  SystemProperties,
} from './definition/entity-definition.js';
export { codecOf, type EntityCodec } from './definition/codec.js';
export {
  binary,
  boolean,
  dateTime,
  double,
  enumeration,
  guid,
  instant,
  int32,
  int64,
  string,
} from './definition/scalar-types.js';
export {
  embedded,
  json,
  list,
  type EmbeddedProperties,
  type EmbeddedValue,
  type JsonValue,
} from './definition/structured-types.js';
export type { StandardSchema } from './definition/standard-schema.js';
export type {
  AnyProperty,
  Properties,
  Property,
  PropertyFlag,
  PropertyKind,
} from './definition/property.js';
export { key, type KeyRange, type KeyTemplate } from './definition/key-template.js';
export type { KeyPart, MomentKeyField, NumberKeyField } from './definition/key-part.js';
export type {
  CopiedOf,
  CreateOf,
  FilterNames,
  FilterRefused,
  KeyNames,
  KeyOf,
  MergeOf,
  MergeRefused,
  NumberNames,
  OnlyRead,
  PartitionKeyPrefixOf,
  PartitionOf,
  ReadOf,
  RowKeyPrefixOf,
} from './definition/shapes.js';
export {
  etagOf,
  plain,
  rowKeyOf,
  storedAs,
  storedAsOf,
  timestampOf,
  type Stored,
  type StoredAs,
} from './definition/stored-entity.js';
export { Instant } from './rows/instant.js';
export { rowBytes } from './rows/row-size.js';
export type { Row, RowKey, RowProperties, StoredRow, WireType, WireValue } from './rows/row.js';
export {
  ConditionFailedError,
  ContentionError,
  DecodeError,
  DefinitionError,
  EntityExistsError,
  EntityNotFoundError,
  isAmbiguous,
  LeaseLostError,
  ModelError,
  RequestError,
  TableNotFoundError,
  TooLargeError,
  TransactionFailedError,
  ValueError,
  type ModelErrorOptions,
  type RequestSummary,
  type ServiceFailure,
} from './table/errors.js';
export {
  type Entities,
  entitiesOf,
  type EntitiesOptions,
  type Picked,
  type Selection,
} from './table/entities.js';
export type { Change, ScopedChange, UpdateOptions } from './table/change.js';
export {
  writesOf,
  type KeyOrEntity,
  type ReadTarget,
  type PutWrite,
  type RowWrites,
  type WriteCondition,
} from './table/row-writes.js';
export { bulk, type BulkOptions } from './table/bulk.js';
export { upgradeRows, type UpgradeOptions, type UpgradeReport } from './table/upgrade-rows.js';
export type { UnreadableRow } from './table/unreadable-row.js';
export type { BulkReport, BulkResult } from './table/bulk-result.js';
export { type Filter, type FilterField, type FilterFields } from './table/filter.js';
export type { FilterNode } from './table/filter-node.js';
export type { MergedOptions, MergeOrder } from './table/merged-query.js';
export { type Query, type PageOptions, type QueryPage } from './table/query.js';
export type {
  PartitionQuery,
  PartitionsQuery,
  PlanClass,
  QueryPlan,
  RowConditions,
  RowKeyBounds,
  TableScan,
} from './table/query-plan.js';
export type { KeyBounds, RowSelection } from './table/row-selection.js';
export {
  type Transaction,
  transaction,
  type ChangeOptions,
  type TransactionChange,
  type TransactionOptions,
} from './table/transaction.js';
export type { UpdateScope } from './table/update-scope.js';
export { odataLiteral, odataString } from './table/odata.js';
export {
  openTable,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type TableOptions,
  type WriteResult,
} from './table/gateway.js';
export type { RequestObserver, RequestReport } from './table/observed-request.js';
export {
  openAccountTables,
  type AccountTables,
  type TableAccount,
} from './table/account-tables.js';
export type { ContentionOptions } from './table/contention.js';
export { compoundKeyOf, type CompoundKey, type Family } from './patterns/compound-key.js';
export {
  type DataSeries,
  dataSeriesOf,
  type Series,
  type SeriesOptions,
} from './patterns/data-series.js';
export {
  type TimeSeries,
  timeSeriesOf,
  type TimedValue,
  type TimeRange,
  type TimeSeriesOptions,
} from './patterns/time-series.js';
export {
  type Copies,
  copiesOf,
  type CopyOptions,
  type CopyOutcome,
  type CopyRelation,
} from './patterns/denormalisation.js';
export {
  type MixedTable,
  mixedTableOf,
  updateProperties,
  type BagOptions,
  type MixedConditions,
  type MixedQuery,
  type OneOf,
  type UnknownRow,
} from './patterns/inheritance.js';
export {
  type LogTail,
  logTailOf,
  type LogTailEntry,
  type LogTailOptions,
  type LogTailRange,
} from './patterns/log-tail.js';
export {
  referenceDataOf,
  type ReferenceData,
  type ReferenceDataOptions,
  type ReferenceKey,
} from './patterns/reference-data.js';
export {
  openSpreadEntities,
  type SpreadEntities,
  type SpreadOptions,
  type SpreadQuery,
  type Unspread,
} from './patterns/spread-keys.js';
