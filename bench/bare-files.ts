// The lower bound of a blob server: each blob is a file, written and synced before the answer, and
// read by streams. A list is a prebuilt page.
import { createReadStream, createWriteStream, mkdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { renderBlobList, type ListedBlob } from '../src/wire/xml/blob-list.js';
import { benchBlobName, pageBlobs, smallBlobBytes } from './blob-workloads.js';

const commonHeaders = {
  ETag: '"0x8DE29004E8A1C40"',
  'Last-Modified': 'Fri, 21 Nov 2025 10:00:00 GMT',
  'x-ms-version': '2026-02-06',
  'x-ms-request-id': '7944c5e8-0002-0079-7bcd-59ca30000000',
};

function pageOfBlobs(): Buffer {
  const micros = 1_763_719_200_000_000;
  const items = Array.from({ length: pageBlobs }, (_, number): ListedBlob => ({
    kind: 'blob',
    name: benchBlobName(number),
    properties: {
      kind: 'block',
      bytes: smallBlobBytes,
      createdMicros: micros,
      modifiedMicros: micros,
      headers: { contentType: 'application/octet-stream', contentMd5: Buffer.alloc(16) },
      metadata: [],
      tags: [],
      lease: { status: 'unlocked', state: 'available' },
    },
  }));
  return renderBlobList({
    endpoint: 'http://127.0.0.1:10000/devstoreaccount1/',
    container: 'bench',
    version: '2026-02-06',
    include: { metadata: false, tags: false, copy: false, policies: false, legalHolds: false },
    items,
  });
}

/** Blobs as files of a directory. */
export class BareFiles {
  readonly #directory: string;
  readonly #folders = new Set<string>();
  readonly #page = pageOfBlobs();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Answers a request to a blob or a container. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
    if (searchParams.get('comp') === 'list') return this.#list(response);
    const path = join(this.#directory, pathname, searchParams.get('blockid') ?? '');
    if (request.method === 'GET') return this.#read(path, response);
    if (searchParams.has('restype')) request.resume();
    else await this.#write(path, request);
    response.writeHead(201, { ...commonHeaders, 'Content-Length': 0 });
    response.end();
  }

  #list(response: ServerResponse): void {
    const headers = { 'Content-Type': 'application/xml', 'Content-Length': this.#page.length };
    response.writeHead(200, { ...commonHeaders, ...headers });
    response.end(this.#page);
  }

  async #read(path: string, response: ServerResponse): Promise<void> {
    const { size } = await stat(path);
    const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': size };
    response.writeHead(200, { ...commonHeaders, ...headers });
    await pipeline(createReadStream(path), response);
  }

  async #write(path: string, request: IncomingMessage): Promise<void> {
    const folder = dirname(path);
    if (!this.#folders.has(folder)) mkdirSync(folder, { recursive: true });
    this.#folders.add(folder);
    await pipeline(request, createWriteStream(path, { flush: true }));
  }
}
