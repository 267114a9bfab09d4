import { Command } from 'commander';
import { concurrently } from '../base/async/concurrently.js';
import { byteText } from '../base/byte-text.js';
import {
  blobNameProblem,
  locationText,
  type BlobLocation,
  type NamedBlob,
} from './arguments/blob-location.js';
import { remoteLocation, type RemoteLocation } from './client/remote-location.js';
import {
  connectionOf,
  createOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { BlobClient } from './client/blob-client.js';
import { listPages } from './client/blob-pages.js';
import { briefRetries, retrying } from './client/retry.js';
import { changing, withCreateHint } from './client/service-error.js';
import { afterSomeWork, UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { counted } from './terminal/terminal.js';
import { copyFrom } from './transfer/copy.js';
import { TransferProgress } from './transfer/transfer-progress.js';

interface CopyFlags extends ConnectionFlags {
  readonly recursive?: boolean;
  readonly create?: boolean;
}

/** Copies under way at a time. */
const copiesAtOnce = 8;

export function blobCopyCommand(): Command {
  const command = new Command('copy')
    .summary('let a service copy blobs, and print their names')
    .description(
      'Let the service of the target copy blobs, and print their names when they are there. ' +
        'Source and target are container/name, or a URL, with a signature where the connection ' +
        'does not suffice. A target that is a container, or ends with a slash, takes the name of ' +
        'the source. A blob that exists is replaced.',
    )
    .argument('<source>', 'container/name or a URL; with --recursive also a container')
    .argument('<target>', 'container, container/name or a URL')
    .option('-r, --recursive', 'copy all blobs whose names begin with the source, a folder')
    .addOption(createOption('container'));
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium blob copy photos/cat.jpg backups/2030/
  tabularium blob copy --recursive photos/2030/ backups --create
  tabularium blob copy 'https://other.blob.core.windows.net/photos/cat.jpg?sv=…&sig=…' photos`,
    )
    .action(copy);
}

interface PlannedCopy {
  readonly target: NamedBlob;
  /** The URL of the source. */
  readonly source: string;
}

async function copy(from: string, to: string, flags: CopyFlags): Promise<void> {
  const connection = connectionOf(flags, 'blob');
  const source = remoteLocation(from, connection);
  const target = remoteLocation(to, connection);
  const isRecursive = flags.recursive === true;
  checkLocations(source, target.place, isRecursive);
  const targets = new BlobClient(target.connection);
  const sources = new BlobClient(source.connection);
  const progress = new TransferProgress(process.stderr, undefined);
  let count = 0;
  try {
    if (flags.create === true) {
      await retrying(briefRetries, () => targets.createContainer(target.place.container));
    }
    const plan = isRecursive
      ? copiesBelow(sources, source.place, target.place)
      : [oneCopy(sources, source, target.place)];
    await concurrently(plan, copiesAtOnce, async (planned) => {
      const name = locationText(planned.target);
      await changing(name, () =>
        copyFrom(targets, planned.target, planned.source, (bytes) => progress.add(bytes)),
      );
      progress.print(name);
      count += 1;
    });
  } catch (error) {
    throw count === 0 ? withCreateHint(error) : afterSomeWork(error);
  } finally {
    progress.stop();
    if (count > 0) {
      const bytes = byteText(progress.bytes);
      notice(`Copied ${counted(count, 'blob')} into ${target.place.container}, ${bytes}.`);
    }
    sources.close();
    targets.close();
  }
}

/** Throws `UsageError`. */
function checkLocations(
  { place }: RemoteLocation,
  target: BlobLocation,
  isRecursive: boolean,
): void {
  const { container, blob } = place;
  if (!isRecursive) {
    if (blob === undefined) throw new UsageError(`${container} is a container: use --recursive.`);
    if (blob.endsWith('/'))
      throw new UsageError(`${locationText(place)} is a folder: use --recursive.`);
    return;
  }
  for (const each of [place, target]) {
    if (isFolder(each)) continue;
    throw new UsageError(`With --recursive end ${locationText(each)} with a slash.`);
  }
}

function isFolder({ blob }: BlobLocation): boolean {
  return blob === undefined || blob.endsWith('/');
}

function oneCopy(
  sources: BlobClient,
  { place, url }: RemoteLocation,
  target: BlobLocation,
): PlannedCopy {
  const { container, blob = '' } = place;
  const last = blob.slice(blob.lastIndexOf('/') + 1);
  const name = isFolder(target) ? `${target.blob ?? ''}${last}` : (target.blob ?? last);
  return {
    source: url ?? sources.urlOf({ container, blob }),
    target: named(target.container, name),
  };
}

async function* copiesBelow(
  sources: BlobClient,
  { container, blob: prefix = '' }: BlobLocation,
  target: BlobLocation,
): AsyncGenerator<PlannedCopy> {
  for await (const items of listPages(sources, container, { prefix, delimiter: undefined })) {
    for (const { name } of items) {
      yield {
        source: sources.urlOf({ container, blob: name }),
        target: named(target.container, `${target.blob ?? ''}${name.slice(prefix.length)}`),
      };
    }
  }
}

function named(container: string, blob: string): NamedBlob {
  const problem = blobNameProblem(blob);
  if (problem !== undefined) throw new UsageError(`'${blob}' is no name of a blob. ${problem}`);
  return { container, blob };
}
