/**
 * Tabularium as a library: Azure Table storage inside your process.
 *
 *     await using server = await createServer({ inMemory: true });
 *     const client = TableClient.fromConnectionString(server.connectionString(), 'people', {
 *       allowInsecureConnection: true,
 *     });
 */
export { createServer, type TabulariumServer } from './server.js';
export { ServerOptionsError, type AccountOptions, type ServerOptions } from './options.js';
export { AccountSettingsError, developmentAccount } from '../services/accounts/directory.js';
export { loggerOfPino } from './pino-logger.js';
export type { HttpLimits } from '../http/pipeline/limits.js';
export type { LogFields, Logger } from '../http/pipeline/logger.js';
export type { AuthKind, RequestObserver, RequestRecord } from '../http/pipeline/record.js';
export type { PlanClass, QueryReport } from '../services/tables/types.js';
export { manualClock, systemClock, type Clock, type ManualClock } from '../base/clock.js';
export type { Randomness } from '../base/randomness.js';
export type { Timer, Timers } from '../base/timers.js';
