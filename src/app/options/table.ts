import { accountOptions } from './accounts.js';
import { addressOptions } from './addresses.js';
import { processOptions, seedOptions, storageOptions } from './data.js';
import { environmentOptions } from './environment.js';
import { controlRows, interceptorRows } from './failures.js';
import { logOptions, observerOptions } from './log.js';
import { oauthOptions } from './oauth.js';
import type { Option, OptionsOf } from './option.js';
import { strictnessRows } from './strictness.js';
import { tlsOptions } from './tls.js';

/** The options of `createServer`, each in one row. */
export const serverTable = {
  ...storageOptions,
  ...seedOptions,
  ...addressOptions,
  ...accountOptions,
  ...tlsOptions,
  ...oauthOptions,
  ...observerOptions,
  ...strictnessRows,
  ...interceptorRows,
  ...controlRows,
  ...environmentOptions,
};

/** Those that only a server process has, which `tabularium start` is. */
export const processTable = { ...processOptions, ...logOptions };

export type ServerOptionName = keyof typeof serverTable;
export type ProcessOptionName = keyof typeof processTable;

/** How to run a server. Exactly one of `location` and `inMemory` says where data are kept. */
export interface ServerOptions extends OptionsOf<typeof serverTable> {}

/** What can change while a server runs; what is absent stays as it is. */
export type ServerChanges = Pick<ServerOptions, 'accounts' | 'tls' | 'faults' | 'throttle'>;

/** Every option, by its name in a program or, where programs have none, in the process. */
export const optionTable: Readonly<Record<ServerOptionName | ProcessOptionName, Option>> = {
  ...serverTable,
  ...processTable,
};

/** Rows by name, in their order. */
export function optionRows(): readonly (readonly [name: string, row: Option])[] {
  return Object.entries(optionTable);
}
