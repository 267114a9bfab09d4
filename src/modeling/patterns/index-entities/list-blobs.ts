import { changeList, type KeyList, type ListChange } from './key-list.js';
import { compareTexts } from '../../rows/text-order.js';
import type { ContainerPort } from '../../worker/container-port.js';

/** A blob with a list, as read. */
export interface ListBlob {
  readonly list: KeyList;
  readonly etag: string;
}

export interface ListBlobPage {
  readonly names: readonly string[];
  /** Opaque; absent at the end. A page may be empty and have one. */
  readonly cursor?: string;
}

/**
 * Lists in blobs: UTF-8, one text per line, in ordinal order. Keys have no control characters, so a
 * line is always one text. Each method sends one request, apart from the client's own retries.
 */
export interface ListBlobs {
  /** Undefined when there is no such blob. */
  read(name: string): Promise<ListBlob | undefined>;
  /**
   * Stores a list over the given version, or where there is none when `etag` is undefined. False,
   * and nothing changes, when the stored version differs.
   */
  write(name: string, list: KeyList, etag: string | undefined): Promise<boolean>;
  /** Deletes the given version. False, and nothing changes, when it is not stored. */
  delete(name: string, etag: string): Promise<boolean>;
  /** A page of names, in order. */
  names(cursor?: string): Promise<ListBlobPage>;
}

const namesMax = 1000;

/** Follows the value in the name of its blob, because a value may be empty. */
const suffix = '.txt';

/**
 * The lists in the blobs of a container, named `prefix`, the value and `.txt`. No other blobs may
 * have such names. The container must exist. Sends nothing.
 */
export function openListBlobs(
  container: Pick<ContainerPort, 'getBlockBlobClient' | 'listBlobsFlat'>,
  prefix = '',
): ListBlobs {
  const blobOf = (name: string) => container.getBlockBlobClient(`${prefix}${name}${suffix}`);
  return {
    async read(name) {
      try {
        const { etag = '', readableStreamBody } = await blobOf(name).download();
        const chunks: Uint8Array[] = [];
        for await (const chunk of readableStreamBody ?? []) {
          chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
        }
        const lines = Buffer.concat(chunks).toString('utf8').split('\n');
        return { etag, list: lines.filter((line) => line !== '') };
      } catch (error) {
        if (statusOf(error) === 404) return undefined;
        throw error;
      }
    },
    write: (name, list, etag) =>
      unlessRefused([409, 412], async () => {
        const body = Buffer.from(`${[...list].sort(compareTexts).join('\n')}\n`);
        await blobOf(name).upload(body, body.length, {
          conditions: etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag },
          blobHTTPHeaders: { blobContentType: 'text/plain; charset=utf-8' },
        });
      }),
    delete: (name, etag) =>
      unlessRefused([404, 412], () => blobOf(name).delete({ conditions: { ifMatch: etag } })),
    async names(cursor) {
      const pages = container.listBlobsFlat(prefix === '' ? {} : { prefix }).byPage({
        maxPageSize: namesMax,
        ...(cursor === undefined ? {} : { continuationToken: cursor }),
      });
      const answer = await pages.next();
      if (answer.done === true) return { names: [] };
      const { segment, continuationToken = '' } = answer.value;
      const names = segment.blobItems
        .filter(({ name }) => name.endsWith(suffix))
        .map(({ name }) => name.slice(prefix.length, -suffix.length));
      return continuationToken === '' ? { names } : { names, cursor: continuationToken };
    },
  };
}

async function unlessRefused(
  statuses: readonly number[],
  send: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (statuses.includes(statusOf(error))) return false;
    throw error;
  }
}

function statusOf(error: unknown): number {
  const status: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'statusCode') : undefined;
  return typeof status === 'number' ? status : 0;
}

/**
 * Tries a change of the list in a blob once: one read, and a write or delete if the list changes.
 * False when another writer changed it in between.
 */
export async function changeListBlob(
  blobs: ListBlobs,
  name: string,
  change: ListChange,
): Promise<boolean> {
  const blob = await blobs.read(name);
  const list = blob?.list ?? [];
  const next = changeList(list, change);
  if (next === list) return true;
  if (next.length > 0) return blobs.write(name, next, blob?.etag);
  return blob === undefined || blobs.delete(name, blob.etag);
}
