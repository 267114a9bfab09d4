/** For the end of a process, whatever stores it has open. */
export { haltWrites } from '../engines/lmdb/write-transaction.js';
