/** For the end of a process: applies to all stores that it has open. */
export { haltWrites } from '../engines/lmdb/write-transaction.js';
