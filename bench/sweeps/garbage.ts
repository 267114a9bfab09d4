import { developmentAccount } from '../../src/services/accounts/directory.js';

/** What a server holds that will be swept. */
export interface Garbage {
  readonly rows: number;
  /** Rows of one partition of the table. */
  readonly partitionRows: number;
  readonly messages: number;
  /** When the messages expire, all together, after filling has begun. */
  readonly expireSeconds: number;
}

export const account = developmentAccount.name;
export const garbageTable = 'Garbage';
export const garbageQueue = 'garbage';
