import { StorageError } from '../../model/errors/storage-error.js';
import { parseEntityJson, type EntityJsonOptions } from '../client/entity-json.js';
import { CommandFailure, RowError } from '../terminal/failure.js';
import type { SourcePosition, SourceRow } from './source-row.js';

/** The bytes of one row, at most: several times an entity's 1 MiB. */
const rowBytesMax = 16 * 1024 * 1024;

const newline = 0x0a;
const quote = 0x22;
const backslash = 0x5c;

/** Rows of JSONL text: one object a line. Empty lines are skipped. */
export async function* jsonLinesRows(
  input: AsyncIterable<Buffer>,
  options: EntityJsonOptions,
  from: SourcePosition,
): AsyncGenerator<SourceRow> {
  let { offset, line, row } = from;
  const rowOf = (bytes: Buffer): SourceRow | undefined => {
    offset += bytes.length;
    line++;
    const text = textOf(bytes, offset === bytes.length);
    if (text.trim() === '') return undefined;
    row++;
    return { line, end: { offset, line, row }, columns: parsedRow(text, options) };
  };
  for await (const bytes of splitLines(input)) {
    const parsed = rowOf(bytes);
    if (parsed !== undefined) yield parsed;
  }
}

async function* splitLines(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of input) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      if (end === -1) break;
      const part = chunk.subarray(start, end + 1);
      yield rest.length === 0 ? part : Buffer.concat([...rest, part]);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > rowBytesMax) throw new CommandFailure('A line is longer than 16 MiB.');
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

/**
 * Rows of JSON text that is an array of objects, or objects one after another, however they are
 * laid out over lines.
 */
export async function* jsonArrayRows(
  input: AsyncIterable<Buffer>,
  options: EntityJsonOptions,
  from: SourcePosition,
): AsyncGenerator<SourceRow> {
  const scanner = new ObjectScanner(from);
  let row = from.row;
  for await (const chunk of input) {
    for (const { bytes, line, end } of scanner.push(chunk)) {
      row++;
      const columns = parsedRow(textOf(bytes, false), options);
      yield { line, end: { ...end, row }, columns };
    }
  }
  scanner.end();
}

interface ScannedObject {
  readonly bytes: Buffer;
  readonly line: number;
  readonly end: { readonly offset: number; readonly line: number };
}

/**
 * Finds the outermost objects in a stream of bytes. It counts brackets outside of strings; the
 * parser validates their content.
 */
class ObjectScanner {
  #offset: number;
  #line: number;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #startLine = 0;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;

  constructor(from: SourcePosition) {
    this.#offset = from.offset;
    this.#line = from.line;
  }

  *push(chunk: Buffer): Generator<ScannedObject> {
    let start = this.#depth > 0 ? 0 : -1;
    for (let at = 0; at < chunk.length; at++) {
      if (this.#inString) {
        at = this.#skipString(chunk, at);
        continue;
      }
      const byte = chunk[at] ?? 0;
      if (byte === newline) this.#line++;
      else if (byte === quote && this.#depth > 0) this.#inString = true;
      else if (byte === 0x7b || (byte === 0x5b && this.#depth > 0)) {
        if (this.#depth === 0) {
          start = at;
          this.#startLine = this.#line + 1;
        }
        this.#depth++;
      } else if ((byte === 0x7d || byte === 0x5d) && this.#depth > 0) {
        this.#depth--;
        if (this.#depth > 0) continue;
        yield this.#object(chunk.subarray(start, at + 1), this.#offset + at + 1);
        start = -1;
      } else if (this.#depth === 0) this.#between(byte, this.#offset + at);
    }
    this.#offset += chunk.length;
    if (start !== -1) this.#keep(chunk.subarray(start));
  }

  end(): void {
    if (this.#depth === 0) return;
    throw new CommandFailure(
      `Line ${this.#startLine}: the object that begins here is never closed.`,
    );
  }

  /** Returns where scanning continues: the last byte of the string in this chunk. */
  #skipString(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) {
        this.#inString = false;
        return at;
      }
    }
    return chunk.length;
  }

  #object(last: Buffer, offset: number): ScannedObject {
    const bytes = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return { bytes, line: this.#startLine, end: { offset, line: this.#line } };
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes > rowBytesMax) {
      throw new CommandFailure(`Line ${this.#startLine}: an object is larger than 16 MiB.`);
    }
  }

  /**
   * Outside of objects only white space, a byte order mark and the array's punctuation are allowed.
   */
  #between(byte: number, offset: number): void {
    if (byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x2c) return;
    if (byte === 0x5b || byte === 0x5d || offset < 3) return;
    throw new CommandFailure(
      `Line ${this.#line + 1}: expected an object. A JSON input is an array of objects.`,
    );
  }
}

function textOf(bytes: Buffer, isFirst: boolean): string {
  const text = bytes.toString('utf8');
  return isFirst && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function parsedRow(text: string, options: EntityJsonOptions): SourceRow['columns'] {
  try {
    return parseEntityJson(text, options);
  } catch (error) {
    if (error instanceof RowError) return error;
    if (error instanceof StorageError) {
      return new RowError('InvalidJson', 'The row is no well-formed JSON object.');
    }
    throw error;
  }
}
