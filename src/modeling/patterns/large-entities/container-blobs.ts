import type { ContainerPort } from '../../worker/container-port.js';
import type { BlobPage, BlobPort } from './blob-port.js';

const pageBlobsMax = 1000;

/**
 * The blobs of a container, through the official client. The container must exist. Sends nothing.
 */
export function openValueBlobs(client: ContainerPort): BlobPort {
  return {
    addressOf: (name) => client.getBlobClient(name).url,
    async put(name, bytes, { metadata, contentType }) {
      try {
        await client.getBlockBlobClient(name).uploadData(bytes, {
          conditions: { ifNoneMatch: '*' },
          metadata: { ...metadata },
          ...(contentType === undefined
            ? {}
            : { blobHTTPHeaders: { blobContentType: contentType } }),
        });
      } catch (error) {
        if (!isAlreadyThere(error)) throw error;
      }
    },
    async get(name) {
      try {
        const { readableStreamBody } = await client.getBlobClient(name).download();
        const chunks: Uint8Array[] = [];
        for await (const chunk of readableStreamBody ?? []) {
          chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
        }
        return Buffer.concat(chunks);
      } catch (error) {
        if (statusOf(error) === 404) return undefined;
        throw error;
      }
    },
    has: (name) => client.getBlobClient(name).exists(),
    async delete(name) {
      await client.getBlobClient(name).deleteIfExists({ deleteSnapshots: 'include' });
    },
    list: (prefix, cursor) => page(client, prefix, cursor),
  };
}

async function page(client: ContainerPort, prefix: string, cursor?: string): Promise<BlobPage> {
  const pages = client.listBlobsFlat({ prefix, includeMetadata: true }).byPage({
    maxPageSize: pageBlobsMax,
    ...(cursor === undefined ? {} : { continuationToken: cursor }),
  });
  const answer = await pages.next();
  if (answer.done === true) return { blobs: [] };
  const { segment, continuationToken, date } = answer.value;
  const blobs = segment.blobItems.map(({ name, properties, metadata = {} }) => ({
    name,
    modifiedMicros: properties.lastModified.getTime() * 1000,
    metadata,
  }));
  const isEnd = continuationToken === undefined || continuationToken === '';
  return {
    blobs,
    ...(isEnd ? {} : { cursor: continuationToken }),
    ...(date === undefined ? {} : { serviceMicros: date.getTime() * 1000 }),
  };
}

function isAlreadyThere(error: unknown): boolean {
  const code = fieldOf(error, 'code');
  return code === 'BlobAlreadyExists' || code === 'ConditionNotMet';
}

function statusOf(error: unknown): unknown {
  return fieldOf(error, 'statusCode');
}

function fieldOf(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
