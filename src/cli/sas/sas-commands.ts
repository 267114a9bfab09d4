import { accountSasCommand } from './account-sas.js';
import { blobSasCommand } from './blob-sas.js';
import { queueSasCommand } from './queue-sas.js';
import { tableSasCommand } from './table-sas.js';

/** Makes the commands of `tabularium sas`, in the order of its help. */
export const sasCommands = [tableSasCommand, queueSasCommand, blobSasCommand, accountSasCommand];
