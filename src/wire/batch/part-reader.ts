import { isAscii, isUtf8 } from 'node:buffer';
import type { ByteRange } from '../../base/byte-range.js';
import { parseHeaders, type BatchHeaders } from './headers.js';
import { MalformedBatchError } from './malformed.js';

export type BatchMethod = 'DELETE' | 'GET' | 'MERGE' | 'PATCH' | 'POST' | 'PUT';

/** The head of a request inside a batch. */
export interface OperationHead {
  /** As on the request line; `X-HTTP-Method` is among the headers. */
  readonly method: BatchMethod;
  /** An absolute URL or a path with its query, as sent; `splitTarget` takes it apart. */
  readonly target: string;
  /** Operations with identical header text share one object. */
  readonly headers: BatchHeaders;
  /** From an inner HTTP header only; it is not echoed otherwise (table-service §9.3). */
  readonly contentId: string | undefined;
}

/** One request inside a batch. */
export class BatchOperation implements OperationHead {
  /** Operations that say the same before their bodies, byte for byte, share one object. */
  readonly head: OperationHead;
  readonly #range: ByteRange;
  readonly #form: BodyForm;

  constructor(head: OperationHead, range: ByteRange, form: BodyForm) {
    this.head = head;
    this.#range = range;
    this.#form = form;
  }

  get method(): BatchMethod {
    return this.head.method;
  }

  get target(): string {
    return this.head.target;
  }

  get headers(): BatchHeaders {
    return this.head.headers;
  }

  get contentId(): string | undefined {
    return this.head.contentId;
  }

  /** The body without surrounding line breaks; empty when there is none. Decoded on each access. */
  text(): string {
    const { bytes, start, end } = this.#range;
    return end > start ? bytes.toString(this.#form.encoding, start, end) : '';
  }

  /** The body as UTF-8; undefined when the batch is not UTF-8. */
  bytes(): ByteRange | undefined {
    return this.#form.isUtf8 ? this.#range : undefined;
  }
}

/** How the bytes of a batch are text. */
interface BodyForm {
  readonly encoding: 'latin1' | 'utf8';
  readonly isUtf8: boolean;
}

/**
 * The limit of MIME headers, request line and HTTP headers of one part. A target alone may have 64
 * KiB.
 */
const headBytesMax = 128 * 1024;

const lineFeed = 10;

/** A line without its CRLF or LF; `next` is where the following line starts. */
interface Line {
  readonly end: number;
  readonly next: number;
}

/** The header fields of a request. `isClosed`: a blank line follows them. */
interface HeaderBlock {
  readonly headers: BatchHeaders;
  readonly next: number;
  readonly isClosed: boolean;
}

/** A range through the blank line that closes it: its bytes say the same elsewhere. */
interface ClosedRange {
  readonly start: number;
  readonly length: number;
}

/** Reads the parts of a batch body. */
export class PartReader {
  readonly #body: Buffer;
  readonly #form: BodyForm;
  #lastHead: (ClosedRange & { readonly head: OperationHead }) | undefined;
  #lastBlock: (ClosedRange & Pick<OperationHead, 'headers'>) | undefined;

  constructor(body: Buffer) {
    this.#body = body;
    this.#form = isAscii(body)
      ? { encoding: 'latin1', isUtf8: true }
      : { encoding: 'utf8', isUtf8: isUtf8(body) };
  }

  /**
   * The MIME header block at the start of a part and where it ends. Empty when the part begins with
   * a request line.
   */
  mimeHeaders(start: number, end: number): { headers: BatchHeaders; next: number } {
    const first = this.#skipBlankLines(start, end);
    if (methodAt(this.#body, first) !== undefined)
      return { headers: parseHeaders(''), next: first };
    const next = this.#blockEnd(first, end);
    return { headers: parseHeaders(this.#body.toString('latin1', first, next)), next };
  }

  /** The request in the part from `start` up to `end`, exclusive. */
  operation(start: number, end: number): BatchOperation {
    const last = this.#lastHead;
    const isRepeated = last !== undefined && this.#repeats(last, start, end);
    const { head, length } = isRepeated ? last : this.#head(start, end);
    return new BatchOperation(head, this.#bodyRange(start + length, end), this.#form);
  }

  /** Whether a range stands at another place too, in a part that ends at `end`. */
  #repeats({ start: lastStart, length }: ClosedRange, start: number, end: number): boolean {
    if (start + length > end + 1) return false;
    const body = this.#body;
    return body.compare(body, lastStart, lastStart + length, start, start + length) === 0;
  }

  #head(start: number, end: number): { head: OperationHead; length: number } {
    const body = this.#body;
    let position = this.#skipBlankLines(start, end);
    let method = methodAt(body, position);
    while (method === undefined) {
      const line = this.#line(position, end);
      checkMimeLine(body, position, line.end);
      if (line.next - start > headBytesMax) throw new MalformedBatchError('part head too long');
      position = this.#skipBlankLines(line.next, end);
      method = methodAt(body, position);
    }
    const line = this.#line(position, end);
    const target = this.#target(position + method.length + 1, line.end);
    const block = this.#headerBlock(line.next, end);
    const contentId = block.headers.get('content-id');
    const head = { method, target, headers: block.headers, contentId };
    const length = block.next - start;
    this.#lastHead = block.isClosed ? { head, start, length } : undefined;
    return { head, length };
  }

  #line(position: number, end: number): Line {
    if (position >= end) throw new MalformedBatchError('part without a request');
    const feed = this.#body.indexOf(lineFeed, position);
    const next = feed < 0 || feed > end ? end : feed;
    const isCrlf = next > position && this.#body[next - 1] === 13;
    return { end: isCrlf ? next - 1 : next, next: next + 1 };
  }

  #skipBlankLines(start: number, end: number): number {
    let position = start;
    while (position < end && isLineBreak(this.#body[position] ?? 0)) position += 1;
    return position;
  }

  /** The target of a request line. Unencoded spaces in it are kept. */
  #target(start: number, lineEnd: number): string {
    const space = this.#body.lastIndexOf(0x20, lineEnd - 1);
    const isRequest = space > start && standsAt(this.#body, space + 1, 'HTTP/1.');
    if (!isRequest) throw new MalformedBatchError('request line');
    if (space - start > headBytesMax) throw new MalformedBatchError('part head too long');
    const target = this.#decode(start, space).trim();
    if (target === '') throw new MalformedBatchError('request line without a target');
    return target;
  }

  /** Clients repeat one header block in every operation, so the last one is remembered. */
  #headerBlock(start: number, end: number): HeaderBlock {
    const last = this.#lastBlock;
    if (last !== undefined && this.#repeats(last, start, end)) {
      return { headers: last.headers, next: start + last.length, isClosed: true };
    }
    const next = this.#blockEnd(start, end);
    const block = this.#body.toString('latin1', start, next);
    const headers = parseHeaders(block);
    // Without its closing blank line the text could be the beginning of a longer block.
    const isClosed = /^\r?\n$|\n\r?\n$/.test(block);
    if (isClosed) this.#lastBlock = { headers, start, length: block.length };
    return { headers, next, isClosed };
  }

  /** The index after the blank line that ends a header block. */
  #blockEnd(start: number, end: number): number {
    let position = start;
    while (position < end) {
      const line = this.#line(position, end);
      if (line.end === position) return line.next;
      if (line.next - start > headBytesMax) throw new MalformedBatchError('part head too long');
      position = line.next;
    }
    return end;
  }

  /** A body without the line breaks around it. */
  #bodyRange(from: number, to: number): ByteRange {
    const start = this.#skipBlankLines(from, to);
    let end = Math.max(start, to);
    while (end > start && isLineBreak(this.#body[end - 1] ?? 0)) end -= 1;
    return { bytes: this.#body, start, end };
  }

  #decode(start: number, end: number): string {
    return this.#body.toString(this.#form.encoding, start, end);
  }
}

/** Lines before the request line are MIME headers; their content is ignored. */
function checkMimeLine(body: Buffer, start: number, end: number): void {
  const colon = body.indexOf(0x3a, start);
  const isFolded = body[start] === 32 || body[start] === 9;
  if (!isFolded && (colon < 0 || colon >= end)) throw new MalformedBatchError('part header line');
}

/** The method of the request line at a position, if there is one. */
function methodAt(body: Buffer, position: number): BatchMethod | undefined {
  switch (body[position]) {
    case 68:
      return standsAt(body, position, 'DELETE ') ? 'DELETE' : undefined;
    case 71:
      return standsAt(body, position, 'GET ') ? 'GET' : undefined;
    case 77:
      return standsAt(body, position, 'MERGE ') ? 'MERGE' : undefined;
    case 80:
      return postPutOrPatch(body, position);
    default:
      return undefined;
  }
}

function postPutOrPatch(body: Buffer, position: number): BatchMethod | undefined {
  if (standsAt(body, position, 'POST ')) return 'POST';
  if (standsAt(body, position, 'PUT ')) return 'PUT';
  return standsAt(body, position, 'PATCH ') ? 'PATCH' : undefined;
}

/** Whether an ASCII text stands at a position. */
function standsAt(body: Buffer, position: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (body[position + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function isLineBreak(code: number): boolean {
  return code === lineFeed || code === 13;
}
