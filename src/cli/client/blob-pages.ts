import type { BlobClient, BlobListPage } from './blob-client.js';
import { briefRetries, retrying } from './retry.js';

/** The pages of a list of blobs, in order of names; some may be empty. */
export async function* listPages(
  client: BlobClient,
  container: string,
  options: {
    readonly prefix: string;
    readonly delimiter: string | undefined;
    readonly versions?: boolean | undefined;
  },
): AsyncGenerator<BlobListPage['items']> {
  let marker: string | undefined;
  do {
    const request = { ...options, marker };
    const page = await retrying(briefRetries, () => client.listPage(container, request));
    yield page.items;
    marker = page.marker;
  } while (marker !== undefined);
}
