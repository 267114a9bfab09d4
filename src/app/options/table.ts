import { accountOptions } from './accounts.js';
import { copySourceOptions } from './copy-sources.js';
import { addressOptions } from './addresses.js';
import { blobRows, blockRows, type BlobProtectionOptions } from './blobs.js';
import { processOptions, seedOptions, storageOptions } from './data.js';
import { environmentOptions } from './environment.js';
import { controlRows, interceptorRows } from './failures.js';
import { logOptions, observerOptions } from './log.js';
import { oauthOptions } from './oauth.js';
import type { Option, OptionsOf } from './option.js';
import { storesOptions } from './stores.js';
import { strictnessRows } from './strictness.js';
import { tlsOptions } from './tls.js';

/** The options of `createServer`, each in one row. */
export const serverTable = {
  ...storageOptions,
  ...storesOptions,
  ...seedOptions,
  ...blobRows,
  ...blockRows,
  ...addressOptions,
  ...accountOptions,
  ...tlsOptions,
  ...oauthOptions,
  ...copySourceOptions,
  ...observerOptions,
  ...strictnessRows,
  ...interceptorRows,
  ...controlRows,
  ...environmentOptions,
};

/** The options of a server process, such as `tabularium start`. */
export const processTable = { ...processOptions, ...logOptions };

export type ServerOptionName = keyof typeof serverTable;
export type ProcessOptionName = keyof typeof processTable;

/** The options of a server. Exactly one of `location` and `inMemory` says where data are kept. */
export interface ServerOptions extends OptionsOf<typeof serverTable> {}

/** The options that can change while a server runs; absent ones are unchanged. */
export type ServerChanges = Pick<
  ServerOptions,
  'accounts' | 'tls' | 'faults' | 'throttle' | keyof BlobProtectionOptions
>;

/** All options, by their name in a program or, if programs do not have them, in the process. */
export const optionTable: Readonly<Record<ServerOptionName | ProcessOptionName, Option>> = {
  ...serverTable,
  ...processTable,
};

/** Rows by name, in their order. */
export function optionRows(): readonly (readonly [name: string, row: Option])[] {
  return Object.entries(optionTable);
}
