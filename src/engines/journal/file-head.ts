import { crc32 } from 'node:zlib';
import type { Bytes } from '../../base/bytes.js';
import { asBuffer } from '../../base/bytes.js';
import { blockBytes } from './frame.js';
import { readWhole, writeWhole } from './whole-number.js';

/*
 * The first block of a file. The last block is a copy, in case the first is lost:
 *
 *   0 mark · 4 checksum of the rest of the head · 8 format · 12 number of the file · 16 generation
 *   (8) · 24 first sequence (8) · 32 sixteen random bytes, whose CRC-32 is the secret · 48
 *   generation of the predecessor (8) · 56 its secret
 */
const headMark = 0x4e524a54;
/** The format that this version writes, and the only one that it reads. */
export const fileFormat = 1;
const checksumAt = 4;
const [formatAt, numberAt, generationAt, firstSequenceAt, chanceAt] = [8, 12, 16, 24, 32];
export const chanceBytes = 16;
const [predecessorAt, predecessorSecretAt, fileHeadEnd] = [48, 56, 60];

/** Names an opening of one directory. Others have the same numbers, but not the same secrets. */
export interface GenerationId {
  /** 0 where there was none yet. */
  readonly generation: number;
  /** The secret of its files. */
  readonly secret: number;
}

/** The head of a journal file. */
export interface FileHead {
  /** The format of the whole file. Later formats keep this head up to here, and its checksum. */
  readonly format: number;
  /** The number of the file within its generation, from 1 on. */
  readonly number: number;
  /** The number of the opening of the store that writes the file; greater than all before. */
  readonly generation: number;
  /** The first frame of the generation. Frames of earlier generations from here on do not count. */
  readonly firstSequence: number;
  /** `chanceBytes` random bytes. */
  readonly chance: Bytes;
  /** What the note named when this generation began. */
  readonly predecessor: GenerationId;
}

export function encodeFileHead(head: Omit<FileHead, 'format'>): Buffer {
  const bytes = Buffer.alloc(blockBytes);
  bytes.writeUInt32LE(headMark, 0);
  bytes.writeUInt32LE(fileFormat, formatAt);
  bytes.writeUInt32LE(head.number, numberAt);
  writeWhole(bytes, head.generation, generationAt);
  writeWhole(bytes, head.firstSequence, firstSequenceAt);
  bytes.set(head.chance, chanceAt);
  writeWhole(bytes, head.predecessor.generation, predecessorAt);
  bytes.writeUInt32LE(head.predecessor.secret, predecessorSecretAt);
  bytes.writeUInt32LE(crc32(bytes.subarray(formatAt, fileHeadEnd)), checksumAt);
  return bytes;
}

/** Undefined when the head was not written completely. */
export function decodeFileHead(bytes: Buffer): FileHead | undefined {
  if (bytes.length < blockBytes || bytes.readUInt32LE(0) !== headMark) return undefined;
  const checksum = crc32(bytes.subarray(formatAt, fileHeadEnd));
  if (checksum !== bytes.readUInt32LE(checksumAt)) return undefined;
  return {
    format: bytes.readUInt32LE(formatAt),
    number: bytes.readUInt32LE(numberAt),
    generation: readWhole(bytes, generationAt),
    firstSequence: readWhole(bytes, firstSequenceAt),
    // A copy: a view would keep the whole file in memory.
    chance: Buffer.from(bytes.subarray(chanceAt, chanceAt + chanceBytes)),
    predecessor: {
      generation: readWhole(bytes, predecessorAt),
      secret: bytes.readUInt32LE(predecessorSecretAt),
    },
  };
}

export function secretOf({ chance }: Pick<FileHead, 'chance'>): number {
  return crc32(asBuffer(chance));
}
