/**
 * Tabularium as a library: Azure Table, Queue and Blob storage inside your process.
 *
 *     await using server = await createServer({ inMemory: true });
 *     const people = TableClient.fromConnectionString(server.connectionString(), 'people', {
 *       allowInsecureConnection: true,
 *     });
 *     const queues = QueueServiceClient.fromConnectionString(server.connectionString());
 */
export { createServer, type TabulariumServer } from './server.js';
export { createServerOver } from './server-over.js';
export {
  DataDirectoryError,
  type DataDirectoryProblem,
} from '../engines/lmdb/directory/data-directory-error.js';
export { ListenError } from './listen-error.js';
export type { ServerEndpoints } from './endpoints.js';
export type { AccountOptions } from './options/accounts.js';
export type { ServerChanges, ServerOptions } from './options/table.js';
export type { ServiceName } from '../model/services/services.js';
export type {
  PassphraseOptions,
  PemOptions,
  PfxOptions,
  TlsOptions,
} from './options/tls-settings.js';
export type { OAuthAlgorithm, OAuthOptions } from './options/oauth-settings.js';
export { ServerOptionsError } from './options/server-options-error.js';
export type { StrictnessOptions } from './options/strictness.js';
export type { LenientItem } from '../http/operations/request-rules.js';
export {
  SeedError,
  type SeedAccount,
  type SeedBlob,
  type SeedContainer,
  type SeedData,
  type SeedEntity,
  type SeedMessage,
  type SeedPath,
  type SeedProgress,
  type SeedQueue,
  type SeedTable,
  type SeedType,
  type SeedTypedValue,
  type SeedValue,
} from './seed/seed-data.js';
export type { ControlOptions, InterceptorOptions } from './options/failures.js';
export type { ThrottleControl } from './interceptors.js';
export { SnapshotError, type SnapshotControl, type SnapshotInfo } from './snapshots.js';
export { InvalidSettingError } from '../base/invalid-setting-error.js';
export type { Faults, FaultState } from '../http/faults/injector.js';
export type {
  FaultEffect,
  FaultErrorCode,
  FaultPattern,
  FaultRange,
  FaultRule,
} from '../http/faults/rule.js';
export type { ThrottleLimits, ThrottleRates, ThrottleSetting } from '../http/throttle/limits.js';
export type { PartitionLoad } from '../http/exchange/request-load.js';
export { AccountSettingsError, developmentAccount } from '../services/accounts/directory.js';
export { loggerOfPino } from './pino-logger.js';
export type { HttpLimits } from '../http/pipeline/limits.js';
export type { LogFields, Logger } from '../http/exchange/logger.js';
export type {
  AuthKind,
  CredentialKind,
  RequestDetail,
  RequestObserver,
  RequestRecord,
} from '../http/exchange/record.js';
export type { PlanClass, QueryReport } from '../model/edm/query-report.js';
export { manualClock, systemClock, type Clock, type ManualClock } from '../base/clock.js';
export type { Randomness } from '../base/randomness.js';
export type { Timer, Timers } from '../base/async/timers.js';
