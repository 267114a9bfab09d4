import { concurrently } from '../../base/async/concurrently.js';
import { asBuffer } from '../../base/bytes.js';
import { contentTypeDefault, type ContentHeaders } from '../../model/blobs/properties.js';
import { checkTags } from '../../model/blobs/tags.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { BlobService } from '../../services/blobs/blob-service.js';
import { checkContainerName, isOfService } from '../../services/blobs/container-name.js';
import { checkMetadata } from '../../services/containers/metadata.js';
import { checkBlobName } from '../../wire/blobs/resource-path.js';
import { isXmlText } from '../../wire/xml/escape.js';
import {
  SeedError,
  type SeedBlob,
  type SeedContainer,
  type SeedPath,
  type SeedProgress,
} from './seed-data.js';
import type { SeedMistakes } from './seed-mistakes.js';
import { refused, seedErrorOf } from './seed-tables.js';

/** The container to create, and the mode. */
export interface ContainerTarget {
  readonly blobs: BlobService;
  readonly account: string;
  readonly container: string;
  readonly path: SeedPath;
  readonly ifExists: 'skip' | 'replace';
  /** Called with the number of blobs written or skipped. */
  readonly done: (more: Partial<SeedProgress>) => void;
}

type Said = string | SeedBlob | null;

/** Blobs that are written at the same time: each waits for the disk. */
const blobsAtOnce = 8;
/** The members of a blob that give its content. */
const contents = ['text', 'base64', 'bytes', 'stream'] as const;
const headerNames = [
  'contentType',
  'contentEncoding',
  'contentLanguage',
  'contentDisposition',
  'cacheControl',
] as const;
/** What a header can carry. */
const headerText = /^[\x20-\x7e]*$/;

/** Records mistakes that can be found before anything is created. */
export function noteContainerMistakes(
  name: string,
  content: SeedContainer,
  path: SeedPath,
  mistakes: SeedMistakes,
): void {
  mistakes.note(() => refused(path, () => checkContainerName(name)));
  mistakes.note(() => {
    if (isOfService(name)) throw new SeedError(path, 'the service keeps this container itself');
  });
  mistakes.note(() => checkSeedMetadata(content, path));
  for (const [blob, said] of Object.entries(content.blobs ?? {})) {
    if (mistakes.isFull) return;
    mistakes.note(() => checkSeedBlob(name, blob, blobOf(said), [...path, 'blobs', blob]));
  }
}

function checkSeedBlob(container: string, name: string, blob: SeedBlob, path: SeedPath): void {
  refused(path, () => checkBlobName(container, name));
  if (!isXmlText(name)) throw new SeedError(path, 'the name has characters that no blob can have');
  const given = contents.filter((member) => blob[member] !== undefined);
  if (given.length > 1) {
    throw new SeedError(path, `has the content twice: ${given.join(' and ')}`);
  }
  const { base64, tags = {} } = blob;
  if (base64 !== undefined && Buffer.from(base64, 'base64').toString('base64') !== base64) {
    throw new SeedError([...path, 'base64'], 'the text is no base64');
  }
  for (const member of headerNames) {
    if (headerText.test(blob[member] ?? '')) continue;
    throw new SeedError([...path, member], 'has characters that no header can have');
  }
  checkSeedMetadata(blob, path);
  refused([...path, 'tags'], () => checkTags(Object.entries(tags)));
}

function checkSeedMetadata(said: Pick<SeedContainer, 'metadata'>, path: SeedPath): void {
  refused([...path, 'metadata'], () => checkMetadata(metadataOf(said)));
}

/** Creates the container and its blobs. */
export async function seedContainer(
  target: ContainerTarget,
  content: SeedContainer,
): Promise<void> {
  try {
    await makeContainer(target, content);
  } catch (error) {
    throw seedErrorOf(error, target.path);
  }
  await concurrently(Object.entries(content.blobs ?? {}), blobsAtOnce, ([name, said]) =>
    seedBlob(target, name, blobOf(said)),
  );
}

async function makeContainer(
  { blobs, account, container, ifExists }: ContainerTarget,
  content: SeedContainer,
): Promise<void> {
  const address = { account, container };
  const { publicAccess = 'none' } = content;
  const metadata = metadataOf(content);
  try {
    await blobs.containers.create(address, { metadata, publicAccess });
  } catch (error) {
    const isThere = error instanceof StorageError && error.code === 'ContainerAlreadyExists';
    if (!isThere) throw error;
    if (ifExists === 'skip') return;
    const { identifiers } = await blobs.containers.getAcl(address, {});
    await blobs.containers.setAcl(address, { publicAccess, identifiers }, {});
    await blobs.containers.setMetadata(address, metadata, {});
  }
}

async function seedBlob(target: ContainerTarget, name: string, blob: SeedBlob): Promise<void> {
  const { blobs, account, container, ifExists, done } = target;
  const conditions = ifExists === 'skip' ? { ifNoneMatch: 'any' as const } : {};
  try {
    await blobs.putBlockBlob(
      { account, container, blob: name },
      {
        headers: headersOf(blob),
        metadata: metadataOf(blob),
        tags: Object.entries(blob.tags ?? {}),
      },
      { body: bodyOf(blob), conditions },
    );
    done({ blobs: 1 });
  } catch (error) {
    const isThere = error instanceof StorageError && error.code === 'BlobAlreadyExists';
    if (!isThere) throw seedErrorOf(error, [...target.path, 'blobs', name]);
    done({ blobs: 1, keptBlobs: 1 });
  }
}

async function* bodyOf({ text, base64, bytes, stream }: SeedBlob): AsyncGenerator<Buffer> {
  if (stream !== undefined) {
    for await (const piece of stream()) yield asBuffer(piece);
    return;
  }
  if (text !== undefined) yield Buffer.from(text);
  else if (base64 !== undefined) yield Buffer.from(base64, 'base64');
  else if (bytes !== undefined) yield asBuffer(bytes);
}

function headersOf(blob: SeedBlob): ContentHeaders {
  const headers = headerNames.flatMap((name) => {
    const text = blob[name];
    return text === undefined || text === '' ? [] : [[name, text]];
  });
  return { contentType: contentTypeDefault, ...Object.fromEntries(headers) };
}

function metadataOf({ metadata = {} }: Pick<SeedContainer, 'metadata'>): Metadata {
  return Object.entries(metadata);
}

function blobOf(said: Said): SeedBlob {
  return typeof said === 'string' ? { text: said } : (said ?? {});
}
