import { buffer } from 'node:stream/consumers';
import type { Bytes } from '../../../base/bytes.js';
import type { ContainerPort } from '../../worker/container-port.js';
import type { Place, Slot } from './place.js';

/** The parts of `ContainerClient` of `@azure/storage-blob` that are used here. */
export type BlobContainer = Pick<ContainerPort, 'containerName' | 'getBlockBlobClient'>;

/** How blobs are stored. */
export interface BlobPlaceOptions {
  readonly contentType?: string;
}

/** Block blobs of a container, named by the payload. The container must exist. */
export function blobIn<Payload>(
  container: BlobContainer,
  name: (payload: Payload) => string,
  { contentType = 'application/octet-stream' }: BlobPlaceOptions = {},
): Place<Payload, Bytes> {
  return {
    name: container.containerName,
    slot: (payload) => blobSlot(container, name(payload), contentType),
  };
}

function blobSlot(container: BlobContainer, name: string, contentType: string): Slot<Bytes> {
  const blob = container.getBlockBlobClient(name);
  return {
    etag: () => ifPresent(async () => (await blob.getProperties()).etag),
    read: () =>
      ifPresent(async () => {
        const { readableStreamBody: body, etag = '' } = await blob.download();
        return { value: body === undefined ? new Uint8Array() : await buffer(body), etag };
      }),
    store(value, etag) {
      const conditions = etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag };
      const blobHTTPHeaders = { blobContentType: contentType };
      return ifHeld(blob.upload(value, value.length, { conditions, blobHTTPHeaders }));
    },
    delete: (etag) => ifHeld(blob.delete({ conditions: { ifMatch: etag } })),
  };
}

async function ifPresent<T>(request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if (isAnswer(error, 404, 'ContainerNotFound')) return undefined;
    throw error;
  }
}

async function ifHeld(sent: Promise<unknown>): Promise<boolean> {
  try {
    await sent;
    return true;
  } catch (error) {
    const isConflict = [404, 409, 412].some((status) =>
      isAnswer(error, status, 'ContainerNotFound', 'ContainerBeingDeleted'),
    );
    if (isConflict) return false;
    throw error;
  }
}

/** Whether the response has a status, for another reason than these codes. */
function isAnswer(error: unknown, status: number, ...otherCodes: readonly string[]): boolean {
  if (!(error instanceof Error) || !('statusCode' in error)) return false;
  const { code = '' } = error as { readonly code?: unknown };
  // A response to HEAD has no body, so its code is the name of the status.
  return error.statusCode === status && !otherCodes.includes(String(code));
}
