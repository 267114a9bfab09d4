import { invariant } from '../../base/invariant.js';
import { blocksMax } from '../../wire/xml/blob-block-list.js';
import { CommandFailure } from '../terminal/failure.js';

/** The bytes of a block of a file that is not huge; a smaller file is sent in one request. */
const usualBlockBytes = 4 * 1024 * 1024;

/** For a source of unknown size. */
const blindBlockBytes = 8 * 1024 * 1024;

/** Several blocks are in memory at a time. */
const uploadBlockBytesMax = 100 * 1024 * 1024;

/**
 * The bytes of a block, so that a blob of these bytes has no more blocks than it may have.
 *
 * @param bytes undefined when the size is unknown
 * @throws {CommandFailure} for more bytes than are sent
 */
export function blockBytesFor(bytes: number | undefined): number {
  if (bytes === undefined) return blindBlockBytes;
  const needed = Math.ceil(bytes / blocksMax);
  if (needed > uploadBlockBytesMax)
    throw new CommandFailure('A file of more than 4.7 TiB is not sent.');
  return Math.max(usualBlockBytes, needed);
}

/** The id of a block, base64; 48 bytes, as long as those of the official clients. */
const idBytes = 48;

/**
 * The id of a block by its place and its MD5: a block that is stored already under its id need not
 * be sent again.
 */
export function blockId(index: number, md5: string): string {
  const id = Buffer.alloc(idBytes);
  id.writeUInt32BE(index);
  id.write(md5, 4, 'base64');
  return id.toString('base64');
}

/** A block of a source of bytes. */
export interface SourceBlock {
  readonly index: number;
  readonly bytes: Buffer;
}

/**
 * Cuts bytes into blocks, all but the last of `blockBytes`. A source without bytes has none.
 *
 * @throws {CommandFailure} for more blocks than a blob may have
 */
export async function* blocksOf(
  source: AsyncIterable<Buffer>,
  blockBytes: number,
): AsyncGenerator<SourceBlock> {
  let index = 0;
  let block = Buffer.allocUnsafe(blockBytes);
  let filled = 0;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      const copied = chunk.copy(block, filled, at);
      invariant(copied > 0, 'a block has room until it is given away');
      filled += copied;
      at += copied;
      if (filled < blockBytes) continue;
      if (index >= blocksMax) throw tooManyBlocks();
      yield { index, bytes: block };
      index += 1;
      block = Buffer.allocUnsafe(blockBytes);
      filled = 0;
    }
  }
  if (filled === 0) return;
  if (index >= blocksMax) throw tooManyBlocks();
  yield { index, bytes: block.subarray(0, filled) };
}

function tooManyBlocks(): CommandFailure {
  return new CommandFailure(
    'The input has more bytes than were expected: it is sent from a file, or in parts.',
  );
}
