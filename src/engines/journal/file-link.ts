import { crc32 } from 'node:zlib';
import { blockBytes } from './frame.js';
import { readWhole, writeWhole } from './whole-number.js';

/*
 * A link takes a whole block:
 *
 *   0 mark · 4 checksum of the rest of the link, begun with the file's secret · 8 number of the
 *   next file · 12 zero · 16 sequence (8) of its first frame
 */
const mark = 0x4b4e4c54;
const [checksumAt, fileAt, sequenceAt, linkEnd] = [4, 8, 16, 24];

/**
 * Follows the last frame of a file, and names the file of the next frame. It is written before that
 * frame, so that recovery notices when the next file was removed, even if it was the last.
 */
export interface FileLink {
  /** The number of the next file of the generation. */
  readonly file: number;
  /** The first frame of that file. */
  readonly sequence: number;
}

/** `secret`: that of the file which contains the link. */
export function encodeLink({ file, sequence }: FileLink, secret: number): Buffer {
  const bytes = Buffer.alloc(blockBytes);
  bytes.writeUInt32LE(mark, 0);
  bytes.writeUInt32LE(file, fileAt);
  writeWhole(bytes, sequence, sequenceAt);
  bytes.writeUInt32LE(crc32(bytes.subarray(fileAt, linkEnd), secret), checksumAt);
  return bytes;
}

/** The link in the block at `start`; undefined when there is none. */
export function decodeLink(bytes: Buffer, start: number, secret: number): FileLink | undefined {
  if (start + linkEnd > bytes.length || bytes.readUInt32LE(start) !== mark) return undefined;
  const content = bytes.subarray(start + fileAt, start + linkEnd);
  if (crc32(content, secret) !== bytes.readUInt32LE(start + checksumAt)) return undefined;
  return {
    file: bytes.readUInt32LE(start + fileAt),
    sequence: readWhole(bytes, start + sequenceAt),
  };
}
