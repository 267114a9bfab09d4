import { unreachable } from '../src/base/invariant.js';

/** One whole response: its status, its body in the pieces in which it came, and their length. */
export type ResponseListener = (status: number, body: readonly Buffer[], bytes: number) => void;

export interface ResponseReaderOptions {
  /** Whether listeners get no bodies of good answers, only their lengths. Default: false. */
  readonly discardsBodies?: boolean;
}

type State = 'head' | 'sized-body' | 'chunk-size' | 'chunk' | 'last-chunk';

const empty = Buffer.alloc(0);
const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const incomplete = -1;

/** A malformed response: a defect of the server under test or of this reader. */
function malformed(what: string): Error {
  return new Error(`The server sent a malformed response: ${what}`);
}

/**
 * Cuts the bytes of one keep-alive connection into responses. Knows what servers really send:
 * `Content-Length`, chunked without trailers, and neither for 204 and 304. No copies of bodies.
 */
export class ResponseReader {
  readonly #listener: ResponseListener;
  readonly #discardsBodies: boolean;
  #state: State = 'head';
  #status = 0;
  #body: Buffer[] = [];
  #bodyBytes = 0;
  /** Bytes of the body or chunk still to come; a chunk's closing CRLF included. */
  #remaining = 0;
  #pending: Buffer = empty;

  constructor(listener: ResponseListener, options: ResponseReaderOptions = {}) {
    this.#listener = listener;
    this.#discardsBodies = options.discardsBodies ?? false;
  }

  push(arrived: Buffer): void {
    const data = this.#pending.length === 0 ? arrived : Buffer.concat([this.#pending, arrived]);
    this.#pending = empty;
    for (let at = 0; at < data.length;) {
      const next = this.#step(data, at);
      if (next === incomplete) {
        this.#pending = data.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** Reads one part from `at`. Where the next begins, or `incomplete` when bytes are missing. */
  #step(data: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(data, at);
      case 'sized-body':
        return this.#readSized(data, at);
      case 'chunk-size':
        return this.#readChunkSize(data, at);
      case 'chunk':
        return this.#readChunk(data, at);
      case 'last-chunk':
        return this.#readLastChunk(data, at);
      default:
        return unreachable(this.#state);
    }
  }

  #readHead(data: Buffer, at: number): number {
    const end = data.indexOf(headEnd, at);
    if (end === -1) return incomplete;
    const head = data.toString('latin1', at, end + 2);
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
    if (length !== undefined) {
      this.#remaining = Number(length);
      this.#state = 'sized-body';
    } else if (/\r\ntransfer-encoding: *chunked\r\n/i.test(head)) {
      this.#state = 'chunk-size';
    } else if (this.#status === 204 || this.#status === 304) {
      this.#remaining = 0;
    } else {
      throw malformed(head);
    }
    if (this.#state !== 'chunk-size' && this.#remaining === 0) this.#finish();
    return end + headEnd.length;
  }

  #readSized(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#remaining);
    this.#take(data.subarray(at, end));
    this.#remaining -= end - at;
    if (this.#remaining === 0) this.#finish();
    return end;
  }

  #readChunkSize(data: Buffer, at: number): number {
    const end = data.indexOf(lineEnd, at);
    if (end === -1) return incomplete;
    const size = Number.parseInt(data.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) throw malformed('a chunk without a size');
    this.#state = size === 0 ? 'last-chunk' : 'chunk';
    this.#remaining = size + lineEnd.length;
    return end + lineEnd.length;
  }

  #readChunk(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#remaining);
    const bodyEnd = Math.min(end, at + this.#remaining - lineEnd.length);
    if (bodyEnd > at) this.#take(data.subarray(at, bodyEnd));
    this.#remaining -= end - at;
    if (this.#remaining === 0) this.#state = 'chunk-size';
    return end;
  }

  #readLastChunk(data: Buffer, at: number): number {
    if (data.length < at + lineEnd.length) return incomplete;
    if (data.indexOf(lineEnd, at) !== at) throw malformed('trailers after the last chunk');
    this.#finish();
    return at + lineEnd.length;
  }

  #take(piece: Buffer): void {
    this.#bodyBytes += piece.length;
    if (!this.#discardsBodies || this.#status >= 300) this.#body.push(piece);
  }

  #finish(): void {
    const [body, bytes] = [this.#body, this.#bodyBytes];
    this.#body = [];
    this.#bodyBytes = 0;
    this.#state = 'head';
    this.#listener(this.#status, body, bytes);
  }
}
