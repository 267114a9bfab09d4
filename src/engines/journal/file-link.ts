import { crc32 } from 'node:zlib';
import { blockBytes } from './frame.js';
import { readWhole, writeWhole } from './whole-number.js';

/*
 * A block of its own, in the place of a frame:
 *
 *   0 mark · 4 checksum of the rest of the link, from the file's secret on · 8 number of the next file
 *   · 12 zero · 16 sequence (8) of its first frame
 */
const mark = 0x4b4e4c54;
const [checksumAt, fileAt, sequenceAt, linkEnd] = [4, 8, 16, 24];

/**
 * Stands behind the last frame of a file as soon as another file is to get the next one, so that a
 * file that somebody takes away is missed, also where nothing follows it.
 */
export interface FileLink {
  /** The number of the next file of the generation. */
  readonly file: number;
  /** Of the frame that the file begins with. */
  readonly sequence: number;
}

/** `secret` is that of the file which the link stands in. */
export function encodeLink({ file, sequence }: FileLink, secret: number): Buffer {
  const bytes = Buffer.alloc(blockBytes);
  bytes.writeUInt32LE(mark, 0);
  bytes.writeUInt32LE(file, fileAt);
  writeWhole(bytes, sequence, sequenceAt);
  bytes.writeUInt32LE(crc32(bytes.subarray(fileAt, linkEnd), secret), checksumAt);
  return bytes;
}

/** The link in the block that begins there; undefined when none does. */
export function decodeLink(bytes: Buffer, start: number, secret: number): FileLink | undefined {
  if (start + linkEnd > bytes.length || bytes.readUInt32LE(start) !== mark) return undefined;
  const content = bytes.subarray(start + fileAt, start + linkEnd);
  if (crc32(content, secret) !== bytes.readUInt32LE(start + checksumAt)) return undefined;
  return {
    file: bytes.readUInt32LE(start + fileAt),
    sequence: readWhole(bytes, start + sequenceAt),
  };
}
