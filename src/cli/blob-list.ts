import { Command } from 'commander';
import { blobLocation, type BlobLocation } from './arguments/blob-location.js';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { BlobClient } from './client/blob-client.js';
import { listPages } from './client/blob-pages.js';
import { UsageError } from './terminal/failure.js';
import { blobView, versionView } from './views/blob-views.js';
import { endWithOutput } from './terminal/closed-output.js';
import { formatOption, outputDrained, outputPrinter, type RowFormat } from './views/row-output.js';

interface ListFlags extends ConnectionFlags {
  readonly prefix?: string;
  readonly delimiter?: string;
  readonly versions?: boolean;
  readonly format: RowFormat;
}

export function blobListCommand(): Command {
  const command = new Command('list')
    .summary('print the blobs of a container')
    .description('Print the blobs of a container in order of their names.')
    .argument('<container>', 'the container', blobLocation)
    .option('-p, --prefix <text>', 'only blobs whose names begin with it')
    .option(
      '-d, --delimiter <text>',
      'print names that go on after it once, as a folder: / shows the first level',
    )
    .option('--versions', 'the versions of blobs as well; a star marks what a blob is now')
    .addOption(formatOption());
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium blob list photos
  tabularium blob list photos --prefix 2030/ --delimiter / --format json`,
    )
    .action(list);
}

async function list({ container, blob }: BlobLocation, flags: ListFlags): Promise<void> {
  endWithOutput();
  if (blob !== undefined) {
    throw new UsageError(`Name the container alone, and how names begin: --prefix ${blob}`);
  }
  const client = new BlobClient(connectionOf(flags, 'blob'));
  const print = outputPrinter(flags.format, flags.versions === true ? versionView : blobView);
  const { prefix = '', delimiter, versions } = flags;
  try {
    for await (const items of listPages(client, container, { prefix, delimiter, versions })) {
      print.page(items);
      await outputDrained();
    }
    print.end();
  } finally {
    client.close();
  }
}
