import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deferred } from '../../src/base/async/deferred.js';

export type SourceKind = 'file' | 'block' | 'page';

export interface HeldCopy {
  readonly kind: SourceKind;
  readonly bytes: Buffer;
  /** The lengths of the blocks of which the bytes are made. */
  readonly blocks: readonly number[];
  /** So many bytes are sent, and no more; undefined: all. */
  readonly holdsAt: number | undefined;
}

/** A source on the way to be copied. */
export interface HeldSource {
  readonly url: string;
  /** Resolves when what may be sent was given to the system. */
  readonly reached: Promise<void>;
}

const types = { file: undefined, block: 'BlockBlob', page: 'PageBlob' } as const;

/** A server of blobs that stops to send where it is told. */
export class HoldingSources {
  readonly #copies = new Map<string, { readonly copy: HeldCopy; reached: () => void }>();
  /** Those of which the properties were read: the next answer is to the copy itself. */
  readonly #opened = new Set<string>();
  readonly #server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://h');
    this.#answer(url, request.headers.range, response);
  });

  static async start(): Promise<HoldingSources> {
    const sources = new HoldingSources();
    sources.#server.listen(0, '127.0.0.1');
    await once(sources.#server, 'listening');
    return sources;
  }

  add(copy: HeldCopy): HeldSource {
    const path = `/${this.#copies.size}`;
    const reached = deferred();
    this.#copies.set(path, { copy, reached: reached.resolve });
    const { port } = this.#server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}${path}`, reached: reached.promise };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(
    { pathname, searchParams }: URL,
    range: string | undefined,
    response: ServerResponse,
  ): void {
    const known = this.#copies.get(pathname);
    if (known === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { copy, reached } = known;
    const part = searchParams.get('comp');
    if (part !== null) {
      response.end(part === 'pagelist' ? pageList(copy) : blockList(copy));
      return;
    }
    const { bytes, kind, holdsAt = bytes.length } = copy;
    const [start = 0, last = bytes.length - 1] = (range?.match(/\d+/g) ?? []).map(Number);
    const type = types[kind];
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': last + 1 - start,
      ...(range !== undefined && { 'content-range': `bytes ${start}-${last}/${bytes.length}` }),
      ...(type !== undefined && { 'x-ms-blob-type': type }),
      ...(type === 'PageBlob' && { 'x-ms-blob-sequence-number': '0' }),
    });
    response.flushHeaders();
    if (!this.#opened.has(pathname)) {
      this.#opened.add(pathname);
      return;
    }
    const until = Math.min(last + 1, holdsAt);
    const isLast = until === holdsAt;
    const sent = (): void => {
      if (isLast) reached();
    };
    if (until <= start) sent();
    else response.write(bytes.subarray(start, until), sent);
    if (until === last + 1) response.end();
  }
}

function blockList({ blocks }: HeldCopy): string {
  const names = blocks.map((size, at) => {
    const name = Buffer.from(String(at).padStart(4, '0')).toString('base64');
    return `<Block><Name>${name}</Name><Size>${size}</Size></Block>`;
  });
  return `<BlockList><CommittedBlocks>${names.join('')}</CommittedBlocks></BlockList>`;
}

function pageList({ blocks }: HeldCopy): string {
  let start = 0;
  const ranges = blocks.map((size) => {
    const range = `<PageRange><Start>${start}</Start><End>${start + size - 1}</End></PageRange>`;
    start += size;
    return range;
  });
  return `<PageList>${ranges.join('')}</PageList>`;
}
