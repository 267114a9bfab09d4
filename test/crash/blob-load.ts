import type { SimRandom } from '../support/sim-random.js';
import type { BlobWireClient } from '../wire/kit/blob-client.js';
import type { DatedRequest } from '../wire/kit/dated-client.js';
import type { WireResponse } from '../wire/kit/response.js';
import { KnownBlob, type Image } from './blob-ledger.js';
import { afterTrouble, throwFailure, type Troubles } from './unanswered.js';

export const crashContainer = 'crash';
const blobsOfWorker = 6;
const pageBytes = 512;
const pagesOfBlob = 160;
/** Some rest in the key space, the others in files. */
const sizes = [0, 1, 700, 32_768, 32_769, 150_000];
const appendSizes = sizes.slice(1);
/** A few are much larger, and take in several pieces of every layer. */
const largeShare = 0.03;
const largeMebibytes = { least: 8, most: 32 };

export interface BlobLoad {
  readonly random: SimRandom;
  /** When set, the load ends after the requests in progress. */
  isOver: boolean;
  /** Responses that a correct server does not give. */
  readonly surprises: string[];
  readonly troubles?: Troubles;
  acknowledged: number;
}

/** The blobs of each connection. */
export function blobsOf(connections: number): readonly (readonly KnownBlob[])[] {
  return Array.from({ length: connections }, (_, worker) =>
    Array.from(
      { length: blobsOfWorker },
      (__, index) => new KnownBlob(`/${crashContainer}/${worker}/${index}`),
    ),
  );
}

/**
 * Writes on one connection until the load is over or, by default, the server is gone, and closes
 * it. A blob of which a request has no answer is left alone.
 */
export async function runBlobLoad(
  load: BlobLoad,
  client: BlobWireClient,
  blobs: readonly KnownBlob[],
): Promise<void> {
  try {
    while (!load.isOver) {
      const known = blobs.filter(({ isKnown }) => isKnown);
      if (known.length === 0) return;
      try {
        await new Worker(load, client, known).step();
      } catch (error) {
        if ((await afterTrouble(error, load)) === 'end') return;
      }
    }
  } finally {
    client.close();
  }
}

class Worker {
  readonly #load: BlobLoad;
  readonly #client: BlobWireClient;
  readonly #blobs: readonly KnownBlob[];

  constructor(load: BlobLoad, client: BlobWireClient, blobs: readonly KnownBlob[]) {
    this.#load = load;
    this.#client = client;
    this.#blobs = blobs;
  }

  async step(): Promise<void> {
    const { random } = this.#load;
    const blob = random.pick(this.#blobs);
    const { image } = blob;
    const kind = random.weighted({
      upload: 4,
      blocks: 4,
      grow: 8,
      copy: 3,
      snapshot: 2,
      delete: 2,
    });
    switch (kind) {
      case 'upload':
        return this.#upload(blob);
      case 'blocks':
        return image === undefined || image.kind === 'block'
          ? this.#putBlocks(blob)
          : this.#delete(blob);
      case 'grow':
        return this.#grow(blob);
      case 'copy':
        return this.#copy(blob);
      case 'snapshot':
        return image === undefined ? this.#upload(blob) : this.#snapshot(blob, image);
      default:
        return this.#delete(blob);
    }
  }

  #bytes(among = sizes): Buffer {
    const { random } = this.#load;
    const seed = random.bytes(16);
    const { least, most } = largeMebibytes;
    // The service takes no large append.
    const isLarge = among === sizes && random.chance(largeShare);
    const length = isLarge ? random.between(least, most) * 1024 * 1024 : random.pick(among);
    return Buffer.alloc(length, seed);
  }

  #upload(blob: KnownBlob): Promise<void> {
    const bytes = this.#bytes();
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    blob.unstage();
    const request = { method: 'PUT', path: blob.path, headers, body: bytes };
    return this.#write(blob, request, 201, imageOf('block', bytes, blob.image));
  }

  /** Puts a few blocks, and mostly commits all that wait. */
  async #putBlocks(blob: KnownBlob): Promise<void> {
    const { random } = this.#load;
    for (let count = random.between(1, 3); count > 0; count -= 1) {
      const id = Buffer.from(String(blob.staged.size).padStart(4, '0')).toString('base64');
      const body = this.#bytes(appendSizes);
      const path = `${blob.path}?comp=block&blockid=${encodeURIComponent(id)}`;
      const { image } = blob;
      // Until it is known whether the block is there, the blob is not to be used.
      blob.issue(image);
      const { status, text } = await this.#client.send({ method: 'PUT', path, body });
      blob.acknowledge(image);
      if (this.#isRefused(status, 201, text)) return;
      blob.stage(id, body);
    }
    if (random.chance(0.6)) await this.commit(blob);
  }

  /** Commits the blocks that wait: those that were acknowledged are there. */
  async commit(blob: KnownBlob): Promise<void> {
    const blocks = [...blob.staged].toSorted(([left], [right]) => (left < right ? -1 : 1));
    const bytes = Buffer.concat(blocks.map(([, each]) => each));
    const list = blocks.map(([id]) => `<Uncommitted>${id}</Uncommitted>`).join('');
    const body = `<BlockList>${list}</BlockList>`;
    const request = { method: 'PUT', path: `${blob.path}?comp=blocklist`, body };
    blob.unstage();
    await this.#write(blob, request, 201, imageOf('block', bytes, blob.image));
  }

  #grow(blob: KnownBlob): Promise<void> {
    const { image } = blob;
    switch (image?.kind) {
      case 'append':
        return this.#append(blob, image);
      case 'page':
        return this.#writePages(blob, image);
      case 'block':
        return this.#delete(blob);
      default:
        return this.#load.random.chance(0.5) ? this.#createAppend(blob) : this.#createPage(blob);
    }
  }

  #createAppend(blob: KnownBlob): Promise<void> {
    const headers = { 'x-ms-blob-type': 'AppendBlob' };
    const request = { method: 'PUT', path: blob.path, headers };
    blob.unstage();
    return this.#write(blob, request, 201, imageOf('append', Buffer.alloc(0), blob.image));
  }

  #createPage(blob: KnownBlob): Promise<void> {
    const bytes = Buffer.alloc(pagesOfBlob * pageBytes);
    const headers = {
      'x-ms-blob-type': 'PageBlob',
      'x-ms-blob-content-length': String(bytes.length),
    };
    const request = { method: 'PUT', path: blob.path, headers };
    blob.unstage();
    return this.#write(blob, request, 201, imageOf('page', bytes, blob.image));
  }

  #append(blob: KnownBlob, image: Image): Promise<void> {
    const body = this.#bytes(appendSizes);
    const headers = { 'x-ms-blob-condition-appendpos': String(image.bytes.length) };
    const request = { method: 'PUT', path: `${blob.path}?comp=appendblock`, headers, body };
    const bytes = Buffer.concat([image.bytes, body]);
    return this.#write(blob, request, 201, { ...image, bytes });
  }

  #writePages(blob: KnownBlob, image: Image): Promise<void> {
    const { random } = this.#load;
    const first = random.int(pagesOfBlob);
    const pages = random.between(1, Math.min(100, pagesOfBlob - first));
    const start = first * pageBytes;
    const length = pages * pageBytes;
    const isClear = random.chance(0.2);
    const body = Buffer.alloc(length, isClear ? 0 : random.between(1, 255));
    const headers = {
      'x-ms-range': `bytes=${start}-${start + length - 1}`,
      'x-ms-page-write': isClear ? 'clear' : 'update',
    };
    const request = { method: 'PUT', path: `${blob.path}?comp=page`, headers };
    const bytes = Buffer.from(image.bytes);
    body.copy(bytes, start);
    const sent = isClear ? request : { ...request, body };
    return this.#write(blob, sent, 201, { ...image, bytes });
  }

  #copy(blob: KnownBlob): Promise<void> {
    const sources = this.#blobs.filter((each) => {
      const isOfType = blob.image === undefined || each.image?.kind === blob.image.kind;
      return each !== blob && each.image !== undefined && isOfType;
    });
    if (sources.length === 0) return this.#upload(blob);
    const source = this.#load.random.pick(sources);
    const { kind, bytes } = source.image ?? { kind: 'block', bytes: Buffer.alloc(0) };
    const { authority, account } = this.#client;
    const headers = { 'x-ms-copy-source': `http://${authority}/${account}${source.path}` };
    blob.unstage();
    const request = { method: 'PUT', path: blob.path, headers };
    return this.#write(blob, request, 202, imageOf(kind, bytes, blob.image));
  }

  async #snapshot(blob: KnownBlob, image: Image): Promise<void> {
    const request = { method: 'PUT', path: `${blob.path}?comp=snapshot` };
    const response = await this.#client.send(request);
    if (this.#isRefused(response.status, 201, response.text)) return;
    const time = response.header('x-ms-snapshot') ?? '';
    const snapshots = new Map([...image.snapshots, [time, image.bytes]]);
    blob.acknowledge({ ...image, snapshots });
  }

  async #delete(blob: KnownBlob): Promise<void> {
    if (blob.image === undefined) return this.#upload(blob);
    const headers = { 'x-ms-delete-snapshots': 'include' };
    blob.unstage();
    await this.#write(blob, { method: 'DELETE', path: blob.path, headers }, 202, undefined);
  }

  /** Sends a request that makes `after` of the blob. */
  async #write(
    blob: KnownBlob,
    request: DatedRequest,
    expected: number,
    after: Image | undefined,
  ): Promise<void> {
    const before = blob.image;
    blob.issue(after);
    const response: WireResponse = await this.#client.send(request);
    const isRefused = this.#isRefused(response.status, expected, response.text);
    blob.acknowledge(isRefused ? before : after);
    const version = response.header('x-ms-version-id');
    if (version !== undefined && after?.kind === 'block') blob.keep(version, after.bytes);
  }

  #isRefused(status: number, expected: number, text: string): boolean {
    if (status === expected) {
      this.#load.acknowledged += 1;
      return false;
    }
    throwFailure(status, this.#load, text);
    this.#load.isOver = true;
    this.#load.surprises.push(`answered ${status}, not ${expected}: ${text}`);
    return true;
  }
}

/** Commits what waits in each blob, which must be taken. */
export async function commitStaged(
  load: BlobLoad,
  client: BlobWireClient,
  blobs: readonly KnownBlob[],
): Promise<void> {
  const worker = new Worker(load, client, blobs);
  for (const blob of blobs) if (blob.staged.size > 0) await worker.commit(blob);
}

/** A write of the whole blob keeps its snapshots. */
function imageOf(kind: Image['kind'], bytes: Buffer, before: Image | undefined): Image {
  return { kind, bytes, snapshots: before?.snapshots ?? new Map() };
}
