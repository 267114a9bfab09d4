/** For the end of a process, for all stores that it has open. */
export { haltWrites } from '../engines/lmdb/write-transaction.js';
