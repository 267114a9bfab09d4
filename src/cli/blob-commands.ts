import { blobCopyCommand } from './blob-copy.js';
import { blobDeleteCommand } from './blob-delete.js';
import { blobGetCommand } from './blob-get.js';
import { blobListCommand } from './blob-list.js';
import { blobPutCommand } from './blob-put.js';

/** Makes the commands of `tabularium blob`, in the order of its help. */
export const blobCommands = [
  blobListCommand,
  blobPutCommand,
  blobGetCommand,
  blobCopyCommand,
  blobDeleteCommand,
];
