import { Command } from 'commander';
import { confirmed } from './terminal/confirm.js';
import {
  connectionOf,
  queueOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { CommandFailure, UsageError } from './terminal/failure.js';
import { QueueClient } from './client/queue-client.js';
import { briefRetries, retrying } from './client/retry.js';
import { counted } from './terminal/terminal.js';
import { notice } from './terminal/notice.js';

interface ClearFlags extends ConnectionFlags {
  readonly queue: string;
  readonly yes?: boolean;
}

export function queueClearCommand(): Command {
  const command = new Command('clear')
    .summary('delete all messages of a queue')
    .description(
      'Delete all messages of the queue, those that are invisible included. Asks first; where ' +
        'nobody can be asked, --yes is needed.',
    )
    .addOption(queueOption())
    .option('-y, --yes', 'do not ask');
  return withConnectionOptions(command, 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium queue clear -q work
  tabularium queue clear -q work --yes`,
    )
    .action(clear);
}

async function clear(flags: ClearFlags): Promise<void> {
  const { queue, yes = false } = flags;
  if (!yes && !process.stdin.isTTY) {
    throw new UsageError('This deletes all messages of the queue: say so with --yes.');
  }
  const connection = connectionOf(flags, 'queue');
  const client = new QueueClient(connection);
  try {
    const count = await retrying(briefRetries, () => client.messageCount(queue));
    const messages = counted(count, 'message');
    const question = `Delete ${messages} of ${queue} at ${connection.endpoint}?`;
    if (!yes && !(await confirmed(question, process.stdin, process.stderr))) {
      throw new CommandFailure('Nothing was deleted.');
    }
    await retrying(briefRetries, () => client.clear(queue));
    notice(`Deleted ${messages} of ${queue}.`);
  } finally {
    client.close();
  }
}
