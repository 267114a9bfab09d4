import { basename } from 'node:path';
import { Command } from 'commander';
import { byteText } from '../base/byte-text.js';
import { namedBlob, placeText, type NamedBlob } from './arguments/blob-place.js';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { BlobClient } from './client/blob-client.js';
import { UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { download } from './transfer/download.js';
import { writeNewFile } from './transfer/new-file.js';
import { TransferProgress } from './transfer/transfer-progress.js';
import { outputDrained, outputFlushed } from './views/row-output.js';

interface GetFlags extends ConnectionFlags {
  readonly check: boolean;
}

export function blobGetCommand(): Command {
  const command = new Command('get')
    .summary('write the bytes of a blob to a file')
    .description(
      'Write the bytes of a blob to a file, or to standard output. They are checked on the way. ' +
        'The file appears, or replaces another, when it has all of them.',
    )
    .argument('<blob>', 'container/name', namedBlob)
    .argument('[file]', 'the file; - for standard output (default: the last part of the name)')
    .option('--no-check', 'take bytes that do not have the MD5 that is kept with the blob');
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium blob get photos/2030/cat.jpg
  tabularium blob get photos/2030/cat.jpg pet.jpg
  tabularium blob get backups/data.tar.gz - | tar xz`,
    )
    .action(get);
}

async function get(blob: NamedBlob, file: string | undefined, flags: GetFlags): Promise<void> {
  const target = file ?? fileNameOf(blob);
  const client = new BlobClient(connectionOf(flags, 'blob'));
  let bytesTotal = Infinity;
  const progress = new TransferProgress(process.stderr, () => bytesTotal);
  const bytes = counting(
    download(client, blob, {
      checksBlob: flags.check,
      onSize: (size) => (bytesTotal = size),
    }),
    progress,
  );
  try {
    await (target === '-' ? writeOutput(bytes) : writeNewFile(target, bytes));
  } finally {
    progress.stop();
    client.close();
  }
  if (target !== '-') notice(`Got ${placeText(blob)}, ${byteText(progress.bytes)}, as ${target}.`);
}

async function* counting(
  chunks: AsyncIterable<Buffer>,
  progress: TransferProgress,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    yield chunk;
    progress.add(chunk.length);
  }
}

async function writeOutput(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) {
    process.stdout.write(chunk);
    await outputDrained();
  }
  await outputFlushed();
}

/** A name that leads to no other folder. */
function fileNameOf(blob: NamedBlob): string {
  const name = blob.blob.slice(blob.blob.lastIndexOf('/') + 1);
  const isPlain = name === basename(name) && !['', '.', '..', '-'].includes(name);
  if (isPlain && !name.includes('\0')) return name;
  throw new UsageError(`The name of ${placeText(blob)} is none for a file: name the file as well.`);
}
