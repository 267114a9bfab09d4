import { Command, Option } from 'commander';
import { byteText } from '../base/byte-text.js';
import { concurrently } from '../base/async/concurrently.js';
import { blobLocation, locationText, type BlobLocation } from './arguments/blob-location.js';
import {
  connectionOf,
  createOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { BlobClient } from './client/blob-client.js';
import { briefRetries, retrying } from './client/retry.js';
import { changing, withCreateHint } from './client/service-error.js';
import { openInputFile, streamBytes } from './import/input.js';
import { UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { counted } from './terminal/terminal.js';
import { mediaTypeOf } from './transfer/media-type.js';
import { TransferProgress } from './transfer/transfer-progress.js';
import { planUploads, type PlannedUpload } from './transfer/upload-files.js';
import { upload, type UploadSource } from './transfer/upload.js';

interface PutFlags extends ConnectionFlags {
  readonly recursive?: boolean;
  readonly contentType?: string;
  readonly create?: boolean;
}

/** Files in flight at a time. */
const filesAtOnce = 4;

export function blobPutCommand(): Command {
  const command = new Command('put')
    .summary('store files as blobs and print their names')
    .description(
      'Store files as block blobs and print their names. The last word is the container, or with ' +
        'a name the blob; a name that ends with a slash begins the names of the blobs. A blob ' +
        'that exists is replaced. What an interrupted upload of a large file has left is not ' +
        'sent again.',
    )
    .usage('[options] <file...> <container[/name]>')
    .argument('<words...>', 'files, - for standard input; then the container, or container/name')
    .option('-r, --recursive', 'store the files of directories, named by their paths in them')
    .addOption(
      new Option(
        '--content-type <type>',
        'the media type of the blobs (default: by the ending of the name)',
      ),
    )
    .addOption(createOption('container'));
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium blob put cat.jpg photos --create
  tabularium blob put --recursive site '$web'
  tar cz data | tabularium blob put - backups/data.tar.gz`,
    )
    .action(put);
}

async function put(words: readonly string[], flags: PutFlags): Promise<void> {
  const paths = words.slice(0, -1);
  const [target = ''] = words.slice(-1);
  if (paths.length === 0) {
    throw new UsageError(`Name files, and then the container or blob: '${target}' is one word.`);
  }
  if (paths.filter((path) => path === '-').length > 1) {
    throw new UsageError('Standard input can be read once.');
  }
  const place = blobLocation(target);
  const connection = connectionOf(flags, 'blob');
  const plan = await planUploads(paths, place, { recursive: flags.recursive === true });
  for (const path of plan.skipped) notice(`Left out: ${path}, neither a file nor a directory.`);
  const client = new BlobClient(connection);
  const total = totalOf(plan.uploads);
  const progress = new TransferProgress(
    process.stderr,
    total === undefined ? undefined : () => total,
  );
  let count = 0;
  try {
    if (flags.create === true) {
      await retrying(briefRetries, () => client.createContainer(place.container));
    }
    await concurrently(plan.uploads, filesAtOnce, async (planned) => {
      const name = locationText(planned.blob);
      const source = await sourceOf(planned);
      await changing(name, () =>
        upload(client, planned.blob, source, {
          contentType: flags.contentType ?? mediaTypeOf(planned.blob.blob),
          onStored: (bytes) => progress.add(bytes),
        }),
      );
      progress.print(name);
      count += 1;
    });
    progress.stop();
    report(count, place, progress.bytes);
  } catch (error) {
    progress.stop();
    if (count > 0) report(count, place, progress.bytes);
    throw withCreateHint(error);
  } finally {
    client.close();
  }
}

function report(count: number, { container }: BlobLocation, bytes: number): void {
  notice(`Put ${counted(count, 'blob')} into ${container}, ${byteText(bytes)}.`);
}

/** Undefined when one of the sizes is. */
function totalOf(uploads: readonly PlannedUpload[]): number | undefined {
  let total = 0;
  for (const { size } of uploads) {
    if (size === undefined) return undefined;
    total += size;
  }
  return total;
}

const chunkBytes = 256 * 1024;

async function sourceOf({ path, size }: PlannedUpload): Promise<UploadSource> {
  if (path === '-') return { bytes: streamBytes(process.stdin), size };
  const { handle, stats } = await openInputFile(path);
  const stream = handle.createReadStream({ highWaterMark: chunkBytes });
  return { bytes: streamBytes(stream), size: Number(stats.size) };
}
