import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { codeOf, CommandFailure, messageOf } from '../failure.js';

/** What a resumed import compares, so that it never continues in another file. */
export interface InputIdentity {
  readonly bytes: number;
  readonly modifiedMs: number;
  /** SHA-256 of the first 64 KiB. */
  readonly head: string;
}

/** Something to import from: a file, or standard input, which has no identity and no size. */
export interface ImportInput {
  readonly name: string;
  readonly identity: InputIdentity | undefined;
  /** The first bytes, to tell the format by. */
  readonly head: Buffer;
  /** The bytes from an offset on; from 0 only on standard input. */
  bytes(offset: number): AsyncIterable<Buffer>;
}

const headBytesMax = 64 * 1024;
const chunkBytes = 256 * 1024;

export async function openInput(name: string): Promise<ImportInput> {
  return name === '-' ? standardInput() : fileInput(name);
}

async function fileInput(name: string): Promise<ImportInput> {
  try {
    const facts = await stat(name);
    if (facts.isDirectory()) throw new CommandFailure(`${name} is a directory, not a file.`);
    const head = await readHead(name);
    return {
      name,
      identity: {
        bytes: facts.size,
        modifiedMs: Math.floor(facts.mtimeMs),
        head: createHash('sha256').update(head).digest('hex'),
      },
      head,
      bytes: (offset) => createReadStream(name, { start: offset, highWaterMark: chunkBytes }),
    };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new CommandFailure(`There is no file ${name}.`);
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${name} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

async function readHead(name: string): Promise<Buffer> {
  const file = await open(name);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytesMax), 0, headBytesMax, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
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
