import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { FileReadError, openRegularFile, type RegularFile } from '../../base/regular-file.js';
import { CommandFailure, messageOf } from '../terminal/failure.js';

/** The identity that a resumed import compares, so that it never continues in another file. */
export interface InputIdentity {
  readonly bytes: number;
  readonly modifiedMs: number;
  /** SHA-256 of the first 64 KiB. */
  readonly head: string;
}

/** An import source: a file, or standard input, which has no identity and no size. */
export interface ImportInput {
  readonly name: string;
  readonly identity: InputIdentity | undefined;
  /** The first bytes, for the detection of the format. */
  readonly head: Buffer;
  /** The bytes from an offset on; for standard input only from 0. */
  bytes(offset: number): AsyncIterable<Buffer>;
}

const headBytesMax = 64 * 1024;
const chunkBytes = 256 * 1024;

export async function openInput(name: string): Promise<ImportInput> {
  return name === '-' ? standardInput() : fileInput(name);
}

async function fileInput(name: string): Promise<ImportInput> {
  const file = await openInputFile(name);
  try {
    const head = Buffer.alloc(headBytesMax);
    const { bytesRead } = await file.handle.read(head, 0, headBytesMax, 0);
    return identified(file, head.subarray(0, bytesRead));
  } finally {
    await file.handle.close();
  }
}

function identified({ path: name, stats }: RegularFile, head: Buffer): ImportInput {
  return {
    name,
    identity: {
      bytes: Number(stats.size),
      modifiedMs: Number(stats.mtimeMs),
      head: createHash('sha256').update(head).digest('hex'),
    },
    head,
    bytes: (offset) => fileBytes(name, offset),
  };
}

async function* fileBytes(name: string, start: number): AsyncGenerator<Buffer> {
  const { handle } = await openInputFile(name);
  yield* handle.createReadStream({ start, highWaterMark: chunkBytes }) as AsyncIterable<Buffer>;
}

/** Throws `CommandFailure`. */
export async function openInputFile(name: string): Promise<RegularFile> {
  try {
    return await openRegularFile(name);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    if (error.problem === 'absent') throw new CommandFailure(`There is no file ${name}.`);
    const hint = error.problem === 'not-regular' ? ' Give - and send it to standard input.' : '';
    throw new CommandFailure(`${error.message}.${hint}`, { cause: error });
  }
}

/** The bytes of a stream. Throws `CommandFailure` when it fails. */
export async function* streamBytes(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw new CommandFailure(`The input cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

async function standardInput(): Promise<ImportInput> {
  const chunks = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  const head = first.done === true ? Buffer.alloc(0) : first.value;
  async function* rest(): AsyncGenerator<Buffer> {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { name: '-', identity: undefined, head, bytes: rest };
}
