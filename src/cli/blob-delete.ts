import { Command } from 'commander';
import { concurrently } from '../base/async/concurrently.js';
import {
  blobLocation,
  namedBlob,
  locationText,
  type BlobLocation,
} from './arguments/blob-location.js';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { BlobClient } from './client/blob-client.js';
import { listPages } from './client/blob-pages.js';
import { changing, ServiceError } from './client/service-error.js';
import { deleting } from './deleting.js';
import { confirmed } from './terminal/confirm.js';
import { CommandFailure, UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { quietMs, rateOf, showProgress } from './terminal/progress.js';
import { counted } from './terminal/terminal.js';

interface DeleteFlags extends ConnectionFlags {
  readonly prefix?: boolean;
  readonly yes?: boolean;
}

/** Requests in flight at a time. */
const deletesAtOnce = 8;

export function blobDeleteCommand(): Command {
  const command = new Command('delete')
    .summary('delete blobs')
    .description(
      'Delete blobs and their snapshots. With --prefix, delete all blobs whose names begin with ' +
        'the names that are given: asks first; where nobody can be asked, --yes is needed.',
    )
    .argument('<blobs...>', 'container/name; with --prefix a container is all of its blobs')
    .option('--prefix', 'delete all blobs whose names begin with the names')
    .option('-y, --yes', 'do not ask');
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium blob delete photos/2030/cat.jpg photos/2030/dog.jpg
  tabularium blob delete --prefix photos/2029/
  tabularium blob delete --prefix photos --yes`,
    )
    .action(deleteBlobs);
}

async function deleteBlobs(words: readonly string[], flags: DeleteFlags): Promise<void> {
  const { prefix = false, yes = false } = flags;
  const places = words.map((word) => (prefix ? blobLocation(word) : namedBlob(word)));
  if (prefix && !yes && !process.stdin.isTTY) {
    throw new UsageError('This deletes all blobs whose names begin so: say so with --yes.');
  }
  const connection = connectionOf(flags, 'blob');
  const client = new BlobClient(connection);
  const deleted = { count: 0 };
  try {
    const asked = prefix && !yes ? await ask(client, places, connection.endpoint) : undefined;
    const total = asked ?? (prefix ? undefined : places.length);
    await showingCount('deleted', deleted, total, async () => {
      for (const place of places) await deletePlace(client, place, prefix, deleted);
    });
    report(deleted.count);
  } catch (error) {
    if (deleted.count > 0) report(deleted.count);
    throw error;
  } finally {
    client.close();
  }
}

/** Shows how many blobs work has counted so far, when it takes long; `total` where it is known. */
async function showingCount(
  what: string,
  counter: { readonly count: number },
  total: number | undefined,
  work: () => Promise<void>,
): Promise<void> {
  const rate = rateOf(() => counter.count);
  const progress = showProgress({
    stream: process.stderr,
    share: total === undefined ? undefined : () => counter.count / Math.max(1, total),
    facts: () => [`${counted(counter.count, 'blob')} ${what}`, `${rate()}/s`],
    quietMs,
  });
  try {
    await work();
  } finally {
    progress.stop();
  }
}

function report(count: number): void {
  notice(`Deleted ${counted(count, 'blob')}.`);
}

/** Returns how many there are. Throws unless they are to be deleted. */
async function ask(
  client: BlobClient,
  places: readonly BlobLocation[],
  endpoint: string,
): Promise<number> {
  const found = { count: 0 };
  await showingCount('found', found, undefined, async () => {
    for (const place of places) {
      for await (const names of namesOf(client, place)) found.count += names.length;
    }
  });
  const what = places.map((place) => `${locationText(place)}*`).join(', ');
  const question = `Delete ${counted(found.count, 'blob')}, ${what}, at ${endpoint}?`;
  if (await confirmed(question, process.stdin, process.stderr)) return found.count;
  throw new CommandFailure('Nothing was deleted.');
}

async function deletePlace(
  client: BlobClient,
  place: BlobLocation,
  isPrefix: boolean,
  deleted: { count: number },
): Promise<void> {
  const { container, blob } = place;
  const pages = isPrefix || blob === undefined ? namesOf(client, place) : [[blob]];
  for await (const names of pages) {
    await concurrently(names, deletesAtOnce, async (name) => {
      try {
        await changing(locationText({ container, blob: name }), () =>
          deleting('BlobNotFound', () => client.deleteBlob({ container, blob: name })),
        );
        deleted.count += 1;
      } catch (error) {
        // Another client may have deleted a listed blob.
        const isGone = error instanceof ServiceError && error.code === 'BlobNotFound';
        if (!isPrefix || !isGone) throw error;
      }
    });
  }
}

/** The names that begin with a place, page by page. */
async function* namesOf(
  client: BlobClient,
  { container, blob = '' }: BlobLocation,
): AsyncGenerator<readonly string[]> {
  const pages = listPages(client, container, { prefix: blob, delimiter: undefined });
  for await (const items of pages) yield items.map(({ name }) => name);
}
