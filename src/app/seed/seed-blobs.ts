import { asBuffer } from '../../base/bytes.js';
import {
  contentTypeDefault,
  type BlobKind,
  type ContentHeaders,
} from '../../model/blobs/properties.js';
import { checkTags } from '../../model/blobs/tags.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { BlobService } from '../../services/blobs/blob-service.js';
import { pageRangeBytesMax } from '../../services/blobs/limits.js';
import { checkTierOfKind } from '../../services/blobs/tiers.js';
import type { BlobAddress } from '../../services/blobs/types.js';
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
import { unfinished } from './seed-queues.js';
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

/** The members of a blob that give its content. */
const contents = ['text', 'base64', 'bytes', 'stream'] as const;
const headerNames = [
  'contentType',
  'contentEncoding',
  'contentLanguage',
  'contentDisposition',
  'cacheControl',
] as const;
/** The characters that a header can carry. */
const headerText = /^[\x20-\x7e]*$/;

/** Throws `SeedError` for mistakes that can be found before anything is created. */
export function checkSeedBlob(
  container: string,
  name: string,
  blob: SeedBlob,
  path: SeedPath,
): void {
  refused(path, () => checkBlobName(container, name));
  if (!isXmlText(name)) throw new SeedError(path, 'the name has characters that no blob can have');
  const given = contents.filter((member) => blob[member] !== undefined);
  if (given.length > 1) {
    throw new SeedError(path, `has the content twice: ${given.join(' and ')}`);
  }
  const { base64, tags = {}, type = 'block', tier } = blob;
  if (tier !== undefined) refused([...path, 'tier'], () => checkTierOfKind(type, tier));
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

/** Throws `SeedError`. */
export function checkSeedMetadata(
  container: Pick<SeedContainer, 'metadata'>,
  path: SeedPath,
): void {
  refused([...path, 'metadata'], () => checkMetadata(metadataOf(container)));
}

/** Creates the blob, or leaves one that is there. */
export async function seedBlob(
  target: ContainerTarget,
  name: string,
  blob: SeedBlob,
): Promise<void> {
  const { done, path } = target;
  try {
    await makeBlob(target, name, blob);
    done({ blobs: 1 });
  } catch (error) {
    const isThere = error instanceof StorageError && error.code === 'BlobAlreadyExists';
    if (!isThere) throw seedErrorOf(error, [...path, 'blobs', name]);
    done({ blobs: 1, keptBlobs: 1 });
  }
}

async function makeBlob(target: ContainerTarget, name: string, blob: SeedBlob): Promise<void> {
  const { blobs, account, container, ifExists } = target;
  const address = { account, container, blob: name };
  const { type = 'block', tier } = blob;
  if (type !== 'block') {
    if (ifExists === 'skip') await assertUnfinished(blobs, address);
    await makeInPieces(blobs, address, { ...blob, type });
    return;
  }
  const conditions = ifExists === 'skip' ? { ifNoneMatch: 'any' as const } : {};
  const placed = tier === undefined ? {} : { tier: { tier } };
  const properties = { ...propertiesOf(blob), metadata: metadataOf(blob), ...placed };
  await blobs.putBlockBlob(address, properties, { body: bodyOf(blob), conditions });
}

/** Throws `BlobAlreadyExists` for a complete blob. */
async function assertUnfinished(blobs: BlobService, address: BlobAddress): Promise<void> {
  const [[mark]] = [unfinished];
  try {
    const { metadata } = await blobs.getProperties(address);
    if (metadata.some(([name]) => name === mark?.[0])) return;
  } catch (error) {
    if (error instanceof StorageError && error.code === 'BlobNotFound') return;
    throw error;
  }
  throw new StorageError('BlobAlreadyExists');
}

/** Writes a blob whose content takes several commits, and marks it as unfinished meanwhile. */
async function makeInPieces(
  blobs: BlobService,
  address: BlobAddress,
  blob: SeedBlob & { readonly type: Exclude<BlobKind, 'block'> },
): Promise<void> {
  const properties = { ...propertiesOf(blob), metadata: unfinished };
  if (blob.type === 'append') {
    await blobs.putAppendBlob(address, properties);
    for await (const piece of piecesOf(blob)) {
      await blobs.appendBlock(address, { body: oneOf(piece) });
    }
  } else {
    await blobs.putPageBlob(address, { ...properties, bytes: 0, sequenceNumber: 0n });
    let start = 0;
    for await (const piece of piecesOf(blob)) {
      const end = start + Math.ceil(piece.length / pageBytes) * pageBytes;
      const body = Buffer.concat([piece], end - start);
      await blobs.changePageBlob(address, { bytes: end });
      await blobs.putPages(address, { start, end }, { body: oneOf(body) });
      start = end;
    }
  }
  if (blob.tier !== undefined) await blobs.setTier(address, blob.tier);
  await blobs.setMetadata(address, metadataOf(blob));
}

const pageBytes = 512;

/** The content in pieces that one write takes; only the last one is shorter. */
async function* piecesOf(blob: SeedBlob): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const part of bodyOf(blob)) {
    for (let at = 0; at < part.length;) {
      const next = part.subarray(at, at + pageRangeBytesMax - bytes);
      waiting.push(next);
      bytes += next.length;
      at += next.length;
      if (bytes < pageRangeBytesMax) continue;
      yield Buffer.concat(waiting);
      waiting = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* oneOf(piece: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(piece);
}

function propertiesOf(blob: SeedBlob) {
  return { headers: headersOf(blob), tags: Object.entries(blob.tags ?? {}) };
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

/** The metadata of a container or blob. */
export function metadataOf({ metadata = {} }: Pick<SeedContainer, 'metadata'>): Metadata {
  return Object.entries(metadata);
}
