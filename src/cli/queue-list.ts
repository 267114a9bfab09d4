import { Command } from 'commander';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { QueueClient } from './client/queue-client.js';
import { queueView } from './views/queue-views.js';
import { briefRetries, retrying } from './client/retry.js';
import { endWithOutput } from './terminal/closed-output.js';
import { formatOption, outputDrained, outputPrinter, type RowFormat } from './views/row-output.js';

interface ListFlags extends ConnectionFlags {
  readonly prefix?: string;
  readonly metadata?: boolean;
  readonly format: RowFormat;
}

export function queueListCommand(): Command {
  const command = new Command('list')
    .summary('print the queues of the account')
    .description('Print the queues of the account in order of their names.')
    .option('-p, --prefix <text>', 'only queues whose names begin with it')
    .option('-m, --metadata', 'print their metadata as well')
    .addOption(formatOption());
  return withConnectionOptions(command, 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium queue list
  tabularium queue list --prefix work- --metadata --format json`,
    )
    .action(list);
}

async function list(flags: ListFlags): Promise<void> {
  endWithOutput();
  const client = new QueueClient(connectionOf(flags, 'queue'));
  const print = outputPrinter(flags.format, queueView);
  const { prefix = '', metadata: withMetadata = false } = flags;
  try {
    let marker: string | undefined;
    do {
      const request = { prefix, withMetadata, marker };
      const page = await retrying(briefRetries, () => client.listPage(request));
      print.page(page.queues);
      await outputDrained();
      marker = page.marker;
    } while (marker !== undefined);
    print.end();
  } finally {
    client.close();
  }
}
