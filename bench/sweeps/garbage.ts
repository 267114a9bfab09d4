import { developmentAccount } from '../../src/services/accounts/directory.js';

/** The garbage of a server, which sweeps will free. */
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
