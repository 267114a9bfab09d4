/** The check of a data directory that no server uses, for commands. */
export { checkDirectory as checkDataDirectory } from '../engines/lmdb/check/directory-check.js';
export type { CheckReport } from '../engines/lmdb/check/check.js';
