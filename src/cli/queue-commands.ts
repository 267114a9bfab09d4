import { queueClearCommand } from './queue-clear.js';
import { queueGetCommand } from './queue-get.js';
import { queueListCommand } from './queue-list.js';
import { queuePeekCommand } from './queue-peek.js';
import { queuePutCommand } from './queue-put.js';

/** Makes the commands of `tabularium queue`, in the order of its help. */
export const queueCommands = [
  queueListCommand,
  queuePutCommand,
  queueGetCommand,
  queuePeekCommand,
  queueClearCommand,
];
