import { basename } from 'node:path';
import { Command } from 'commander';
import { concurrently } from '../base/async/concurrently.js';
import { byteText } from '../base/byte-text.js';
import {
  blobLocation,
  locationText,
  type BlobLocation,
  type NamedBlob,
} from './arguments/blob-location.js';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { BlobClient } from './client/blob-client.js';
import { afterSomeWork, CommandFailure, UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { counted } from './terminal/terminal.js';
import { download } from './transfer/download.js';
import { hasBytesOf, makeParents, plannedDownloads } from './transfer/download-files.js';
import { writeNewFile, type Resumable } from './transfer/new-file.js';
import { TransferProgress } from './transfer/transfer-progress.js';
import { endWithOutput } from './terminal/closed-output.js';
import { outputDrained, outputFlushed } from './views/row-output.js';

interface GetFlags extends ConnectionFlags {
  readonly check: boolean;
  readonly recursive?: boolean;
  readonly versionId?: string;
}

/** Files in flight at a time. */
const filesAtOnce = 4;

export function blobGetCommand(): Command {
  const command = new Command('get')
    .summary('write the bytes of blobs to files')
    .description(
      'Write the bytes of a blob to a file, or to standard output. They are checked on the way. ' +
        'The file appears, or replaces another, when it has all of them. With --recursive, all ' +
        'blobs whose names begin so, as files below a directory; those that are there already, ' +
        'by their size and MD5, are not sent again.',
    )
    .argument('<blob>', 'container/name; with --recursive a container, or container/folder/')
    .argument(
      '[file]',
      'the file; - for standard output (default: the last part of the name); with --recursive ' +
        'the directory (default: this one)',
    )
    .option('-r, --recursive', 'get all blobs of a container or folder, and print their files')
    .option('--version-id <id>', 'get this version of the blob, as blob list --versions shows it')
    .option('--no-check', 'take bytes that do not have the MD5 that is kept with the blob');
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium blob get photos/2030/cat.jpg
  tabularium blob get photos/2030/cat.jpg pet.jpg
  tabularium blob get --recursive photos/2030/ pictures
  tabularium blob get backups/data.tar.gz - | tar xz`,
    )
    .action(get);
}

async function get(word: string, file: string | undefined, flags: GetFlags): Promise<void> {
  const place = blobLocation(word);
  const { container, blob } = place;
  const { versionId } = flags;
  if (flags.recursive === true) {
    if (versionId === undefined) return getBelow(place, file ?? '.', flags);
    throw new UsageError('--version-id is of one blob: leave --recursive out.');
  }
  if (blob === undefined) {
    throw new UsageError(`Name a blob after the container: ${container}/name. Or use --recursive.`);
  }
  await getOne({ container, blob, versionId }, file, flags);
}

/** Gets all blobs that begin with a place. */
async function getBelow(place: BlobLocation, directory: string, flags: GetFlags): Promise<void> {
  if (directory === '-') throw new UsageError('Several blobs need a directory: name one.');
  if (place.blob?.endsWith('/') === false) {
    throw new UsageError(`With --recursive end ${locationText(place)} with a slash.`);
  }
  const client = new BlobClient(connectionOf(flags, 'blob'));
  const progress = new TransferProgress(process.stderr, undefined);
  const counts = { got: 0, there: 0, left: 0 };
  try {
    await concurrently(plannedDownloads(client, place, directory), filesAtOnce, async (planned) => {
      const { blob } = planned;
      if (planned.kind === 'left-out') {
        progress.clear();
        notice(`Left out: ${locationText(blob)}, ${planned.reason}.`);
        counts.left += 1;
      } else if (await hasBytesOf(planned)) {
        counts.there += 1;
      } else {
        const { path } = planned;
        await makeParents(path);
        await writeNewFile(
          path,
          (target) => {
            const onSize = (_: number, bytesThere: number) => progress.skip(bytesThere);
            const options = { checksBlob: flags.check, onSize, file: target };
            return counting(download(client, blob, options), progress);
          },
          tellKept,
        );
        progress.print(path);
        counts.got += 1;
      }
    });
  } catch (error) {
    throw counts.got === 0 ? error : afterSomeWork(error);
  } finally {
    progress.stop();
    client.close();
    const { got, there } = counts;
    const kept = there === 0 ? '' : ` ${counted(there, 'file')} had all bytes already.`;
    notice(`Got ${counted(got, 'blob')}, ${byteText(progress.bytes)}, into ${directory}.${kept}`);
  }
  if (counts.left > 0) {
    throw new CommandFailure(`${counted(counts.left, 'blob')} cannot be files: get each by name.`);
  }
}

async function getOne(blob: NamedBlob, file: string | undefined, flags: GetFlags): Promise<void> {
  const name = file ?? fileNameOf(blob);
  const client = new BlobClient(connectionOf(flags, 'blob'));
  let bytesTotal = Infinity;
  const progress = new TransferProgress(process.stderr, () => bytesTotal);
  const bytesInto = (target?: Resumable): AsyncGenerator<Buffer> => {
    const onSize = (total: number, there: number): void => {
      bytesTotal = total;
      progress.skip(there);
    };
    const options = { checksBlob: flags.check, onSize, ...(target && { file: target }) };
    return counting(download(client, blob, options), progress);
  };
  try {
    await (name === '-' ? writeOutput(bytesInto()) : writeNewFile(name, bytesInto, tellKept));
  } finally {
    progress.stop();
    client.close();
  }
  if (name === '-') return;
  const { bytes, bytesThere } = progress;
  const before = bytesThere === 0 ? '' : ` ${byteText(bytesThere)} were there.`;
  notice(`Got ${locationText(blob)}, ${byteText(bytes)}, as ${name}.${before}`);
}

function tellKept(place: string): void {
  notice(`What has arrived stays in ${place}: the same command goes on with it.`);
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
  endWithOutput();
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
  throw new UsageError(
    `The name of ${locationText(blob)} is none for a file: name the file as well.`,
  );
}
