import { Command, Option } from 'commander';
import { messagesPerRequestMax } from '../services/queues/limits.js';
import {
  connectionOf,
  queueOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { base64Option, decodedMessages } from './views/message-text.js';
import { wholeNumber } from './arguments/option-parsers.js';
import { QueueClient } from './client/queue-client.js';
import { messageView } from './views/queue-views.js';
import { briefRetries, retrying } from './client/retry.js';
import { endWithOutput } from './terminal/closed-output.js';
import { formatOption, outputPrinter, type RowFormat } from './views/row-output.js';

interface PeekFlags extends ConnectionFlags {
  readonly queue: string;
  readonly count: number;
  readonly base64?: boolean;
  readonly format: RowFormat;
}

const countDefault = 10;

export function queuePeekCommand(): Command {
  const command = new Command('peek')
    .summary('print the first messages and leave them as they are')
    .description('Print the messages that would be handed out next, and leave them as they are.')
    .addOption(queueOption())
    .addOption(
      new Option('-n, --count <messages>', 'how many messages to print, at most')
        .argParser(wholeNumber(1, messagesPerRequestMax))
        .default(countDefault),
    )
    .addOption(base64Option('decode texts from base64'))
    .addOption(formatOption());
  return withConnectionOptions(command, 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium queue peek -q work
  tabularium queue peek -q work --count 32 --base64 --format jsonl`,
    )
    .action(peek);
}

async function peek(flags: PeekFlags): Promise<void> {
  endWithOutput();
  const client = new QueueClient(connectionOf(flags, 'queue'));
  const print = outputPrinter(flags.format, messageView);
  try {
    const found = await retrying(briefRetries, () => client.peek(flags.queue, flags.count));
    print.page(flags.base64 === true ? decodedMessages(found) : found);
    print.end();
  } finally {
    client.close();
  }
}
