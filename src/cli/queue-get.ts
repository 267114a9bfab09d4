import { Command, Option } from 'commander';
import { messagesPerRequestMax, visibilitySecondsMax } from '../services/queues/limits.js';
import {
  connectionOf,
  queueOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { base64Option, decodedMessages } from './views/message-text.js';
import { duration, wholeNumber } from './arguments/option-parsers.js';
import { QueueClient, type ReceivedMessage } from './client/queue-client.js';
import { messageView } from './views/queue-views.js';
import { briefRetries, retrying } from './client/retry.js';
import { endWithOutput } from './terminal/closed-output.js';
import { formatOption, outputFlushed, outputPrinter, type RowFormat } from './views/row-output.js';
import { deleting } from './deleting.js';
import { ServiceError } from './client/service-error.js';
import { notice } from './terminal/notice.js';

interface GetFlags extends ConnectionFlags {
  readonly queue: string;
  readonly count: number;
  readonly visibility?: number;
  readonly delete?: boolean;
  readonly base64?: boolean;
  readonly format: RowFormat;
}

const countMax = 1_000_000;

export function queueGetCommand(): Command {
  const command = new Command('get')
    .summary('take messages and print them')
    .description(
      'Take messages from the front of the queue and print them. Nobody else gets them while they ' +
        'are invisible; then they come back, unless they were deleted.',
    )
    .addOption(queueOption())
    .addOption(
      new Option('-n, --count <messages>', 'how many messages to take, at most')
        .argParser(wholeNumber(1, countMax))
        .default(1),
    )
    .addOption(
      new Option(
        '--visibility <duration>',
        'how long they are invisible to others: 90, 90s, 5m, 2h, 7d (default: 30s)',
      ).argParser(duration(1, visibilitySecondsMax)),
    )
    .option('--delete', 'delete each message after it was printed')
    .addOption(base64Option('decode texts from base64'))
    .addOption(formatOption());
  return withConnectionOptions(command, 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium queue get -q work
  tabularium queue get -q work --count 100 --delete --format jsonl > work.jsonl
  tabularium queue get -q work --visibility 5m --base64`,
    )
    .action(get);
}

async function get(flags: GetFlags): Promise<void> {
  // Messages that could not be printed are not deleted.
  endWithOutput();
  const client = new QueueClient(connectionOf(flags, 'queue'));
  const print = outputPrinter(flags.format, messageView);
  const { queue, visibility: visibilitySeconds } = flags;
  try {
    for (let left = flags.count; left > 0;) {
      const request = { count: Math.min(left, messagesPerRequestMax), visibilitySeconds };
      const found = await retrying(briefRetries, () => client.get(queue, request));
      if (found.length === 0) break;
      left -= found.length;
      print.page(flags.base64 === true ? decodedMessages(found) : found);
      await outputFlushed();
      if (flags.delete === true) await deleteAll(client, queue, found);
    }
    print.end();
  } finally {
    client.close();
  }
}

/** Messages that another consumer has taken meanwhile are not deleted; the exit code shows that. */
async function deleteAll(
  client: QueueClient,
  queue: string,
  messages: readonly ReceivedMessage[],
): Promise<void> {
  for (const message of messages) {
    try {
      await deleting('MessageNotFound', () => client.delete(queue, message));
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'MessageNotFound') throw error;
      notice(`Not deleted: ${message.id} became visible and was taken by another consumer.`);
      process.exitCode = 1;
    }
  }
}
