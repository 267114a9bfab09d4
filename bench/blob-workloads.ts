import { unreachable } from '../src/base/invariant.js';
import { prose } from './dataset.js';
import type { Target } from './http-request.js';
import { blobPlan, type BlobKind } from './kinds.js';
import { expectStatus, occurrences, type Workload } from './load.js';
import { StorageSigner } from './storage-signer.js';

/** Bytes of a small blob. */
export const smallBlobBytes = 1024;
/** Blobs of a page: the most that the protocol allows. */
export const pageBlobs = 5000;
/** The containers that are read and listed, or written, and the blob that is downloaded. */
const containers = { read: 'bench', written: 'bench-written', large: 'bench-large' } as const;
const largeBlob = 'large';
/** The blobs of one in this many pages are counted. */
const countedPages = 16;
/** Requests that are signed before the clock starts, where they can be sent again. */
const poolSize = 2000;
/** Blocks that a connection puts in turn: each is put anew when its turn comes again. */
const blocksPerConnection = 4;

export const smallBlob = prose(11, smallBlobBytes);
const blockBlobHeader = ['x-ms-blob-type', 'BlockBlob'] as const;

/** The blobs that loads of a run work on. Numbers every blob put, so that none meets another. */
export class BlobData {
  /** Before the clock starts. */
  readonly blobs: number;
  #next = 0;

  constructor(blobs: number) {
    this.blobs = blobs;
  }

  take(): number {
    this.#next += 1;
    return this.#next;
  }
}

/** In one of a hundred folders. */
export function benchBlobName(number: number): string {
  return `folder-${String(number % 100).padStart(2, '0')}/blob-${String(number).padStart(10, '0')}`;
}

function repeated(data: string, bytes: number): Buffer {
  return Buffer.alloc(bytes, data);
}

function putRequest(signer: StorageSigner, path: string, body: string | Buffer): Buffer {
  return signer.request({ method: 'PUT', path, headers: [blockBlobHeader], body });
}

const created = { status: 201, marker: 'anything', occurrences: 0 } as const;

/** Each blob is new. */
function puts(target: Target, data: BlobData): Workload {
  const signer = new StorageSigner(target, 'blob');
  return {
    next: () =>
      putRequest(signer, `/${containers.written}/${benchBlobName(data.take())}`, smallBlob),
    ...created,
  };
}

function gets(target: Target, { blobs }: BlobData): Workload {
  const signer = new StorageSigner(target, 'blob');
  const pool = Array.from({ length: poolSize }, (_, index) => {
    const path = `/${containers.read}/${benchBlobName(Math.floor((index * blobs) / poolSize))}`;
    return signer.request({ method: 'GET', path });
  });
  let sent = 0;
  return {
    next() {
      sent += 1;
      return pool[sent % poolSize];
    },
    status: 200,
    marker: smallBlob,
    occurrences: 1,
  };
}

/** The marker of the next page, from the last bytes of a page; empty after the last one. */
export function nextMarkerIn(body: readonly Buffer[]): string {
  const markerBytesMax = 4096;
  const tail: Buffer[] = [];
  let bytes = 0;
  for (const piece of body.toReversed()) {
    if (bytes >= markerBytesMax) break;
    tail.unshift(piece);
    bytes += piece.length;
  }
  const text = Buffer.concat(tail).toString('utf8');
  const end = /<NextMarker ?\/>|<NextMarker>(?<marker>[^<]*)<\/NextMarker>/.exec(text);
  if (end === null) throw new Error('The server sent a page without NextMarker.');
  return end.groups?.['marker'] ?? '';
}

/** Each connection walks through the container from page to page, again and again. */
function lists(target: Target): Workload {
  const signer = new StorageSigner(target, 'blob');
  const markers = new Map<number, string>();
  let pages = 0;
  return {
    next(connection) {
      const marker = markers.get(connection) ?? '';
      return signer.request({
        method: 'GET',
        path: `/${containers.read}`,
        query: [
          ['comp', 'list'],
          ...(marker === '' ? [] : [['marker', marker] as const]),
          ['maxresults', String(pageBlobs)],
          ['restype', 'container'],
        ],
      });
    },
    answered(connection, status, body) {
      expectStatus(status, 200, body);
      pages += 1;
      const found = pages % countedPages === 1 ? occurrences(body, '<Name>') : pageBlobs;
      if (found !== pageBlobs) throw new Error(`The server sent a page of ${found} blobs.`);
      markers.set(connection, nextMarkerIn(body));
      return 1;
    },
  };
}

/** Each connection puts blocks of a blob of its own, which never becomes one. */
function blockPuts(target: Target): Workload {
  const signer = new StorageSigner(target, 'blob');
  const { mebibytes = 0 } = blobPlan('blob-put-block');
  const body = repeated(smallBlob, mebibytes << 20);
  const requests = new Map<number, Buffer[]>();
  const prepare = (connection: number): Buffer[] => {
    const prepared = Array.from({ length: blocksPerConnection }, (_, block) =>
      signer.request({
        method: 'PUT',
        path: `/${containers.large}/staged-${connection}`,
        query: [
          ['blockid', Buffer.from(`block-${block}`).toString('base64')],
          ['comp', 'block'],
        ],
        body,
      }),
    );
    requests.set(connection, prepared);
    return prepared;
  };
  const sent = new Map<number, number>();
  return {
    next(connection) {
      const own = requests.get(connection) ?? prepare(connection);
      const count = (sent.get(connection) ?? 0) + 1;
      sent.set(connection, count);
      return own[count % blocksPerConnection];
    },
    answered(_connection, status, body) {
      expectStatus(status, 201, body);
      return mebibytes;
    },
  };
}

function downloads(target: Target): Workload {
  const request = new StorageSigner(target, 'blob').request({
    method: 'GET',
    path: `/${containers.large}/${largeBlob}`,
  });
  const { mebibytes = 0 } = blobPlan('blob-download');
  return {
    next: () => request,
    answered(_connection, status, body, bytes) {
      expectStatus(status, 200, body);
      if (bytes !== mebibytes << 20) throw new Error(`The server sent ${bytes} bytes.`);
      return mebibytes;
    },
    discardsBodies: true,
  };
}

/** Signs what the kind needs and returns its load. Call it again for every measurement. */
export function makeBlobWorkload(kind: BlobKind, target: Target, data: BlobData): Workload {
  switch (kind) {
    case 'blob-put':
      return puts(target, data);
    case 'blob-get':
      return gets(target, data);
    case 'blob-list':
      return lists(target);
    case 'blob-put-block':
      return blockPuts(target);
    case 'blob-download':
      return downloads(target);
    default:
      return unreachable(kind);
  }
}

/** Requests that are sent once, one after the other, each answered 201. */
function once(requests: readonly Buffer[]): Workload {
  const left = requests.toReversed();
  return { next: () => left.pop(), ...created };
}

/** Creates the containers, and the blob that is downloaded. */
export function blobCreation(target: Target): Workload {
  const signer = new StorageSigner(target, 'blob');
  const query = [['restype', 'container']] as const;
  const creations = Object.values(containers).map((container) =>
    signer.request({ method: 'PUT', path: `/${container}`, query }),
  );
  const content = repeated(smallBlob, (blobPlan('blob-download').mebibytes ?? 0) << 20);
  return once([...creations, putRequest(signer, `/${containers.large}/${largeBlob}`, content)]);
}

/** The blobs that every server holds before the clock starts. Ends by itself. */
export function blobLoading(
  target: Target,
  blobs: number,
  onSent: (blobs: number) => void,
): Workload {
  const signer = new StorageSigner(target, 'blob');
  let sent = 0;
  return {
    next() {
      if (sent === blobs) return undefined;
      const path = `/${containers.read}/${benchBlobName(sent)}`;
      sent += 1;
      onSent(sent);
      return putRequest(signer, path, smallBlob);
    },
    ...created,
  };
}
