import { crc32 } from 'node:zlib';
import type { Bytes } from '../../base/bytes.js';
import { ownerBytesMax } from '../content-store.js';
import type { ExtentPlace } from './extent-place.js';

// The layout of a file: docs/internals/content-store.md. Numbers are little endian.

const format = 1;
const headMagic = Buffer.from('TCXH');
const footMagic = Buffer.from('TCXF');

/** Each checksum covers this many bytes of an extent; the last one covers the rest. */
export const blockBytes = 64 * 1024;
export const checksumBytes = 4;

const magicAt = 0;
const sumAt = 4;
const summedAt = 8;

const formatAt = 8;
const ownerBytesAt = 10;
const headSaltAt = 12;
const headSessionAt = 16;
const headNumberAt = 24;
const ownerAt = 32;
/** A head is not longer than this. */
export const longestHeadBytes = ownerAt + ownerBytesMax;

const bytesAt = 8;
const headBytesAt = 16;
const footSaltAt = 20;
const footSessionAt = 24;
const footNumberAt = 32;
export const footBytes = 40;

/** The header of the file of an extent; the owner file of a link has nothing else. */
export interface ExtentHead {
  readonly session: string;
  readonly number: number;
  readonly salt: number;
  readonly owner: Bytes;
}

/** The trailer of the file of an extent, which is written last. */
export interface ExtentFoot {
  readonly session: string;
  readonly number: number;
  readonly salt: number;
  readonly bytes: number;
  readonly headBytes: number;
}

export function encodeHead({ session, number, salt, owner }: ExtentHead): Buffer {
  const head = Buffer.alloc(ownerAt + owner.length);
  headMagic.copy(head, magicAt);
  head.writeUInt16LE(format, formatAt);
  head.writeUInt16LE(owner.length, ownerBytesAt);
  head.writeUInt32LE(salt, headSaltAt);
  head.write(session, headSessionAt, 'hex');
  head.writeBigUInt64LE(BigInt(number), headNumberAt);
  head.set(owner, ownerAt);
  return summed(head);
}

/** Undefined when it does not begin with a whole head. */
export function decodeHead(bytes: Buffer): ExtentHead | undefined {
  if (bytes.length < ownerAt) return undefined;
  const headBytes = ownerAt + bytes.readUInt16LE(ownerBytesAt);
  if (bytes.length < headBytes) return undefined;
  const head = bytes.subarray(0, headBytes);
  if (!isSummed(head, headMagic) || head.readUInt16LE(formatAt) !== format) return undefined;
  return {
    session: head.toString('hex', headSessionAt, headNumberAt),
    number: Number(head.readBigUInt64LE(headNumberAt)),
    salt: head.readUInt32LE(headSaltAt),
    owner: Buffer.from(head.subarray(ownerAt)),
  };
}

export function encodeFoot({ session, number, salt, bytes, headBytes }: ExtentFoot): Buffer {
  const foot = Buffer.alloc(footBytes);
  footMagic.copy(foot, magicAt);
  foot.writeBigUInt64LE(BigInt(bytes), bytesAt);
  foot.writeUInt32LE(headBytes, headBytesAt);
  foot.writeUInt32LE(salt, footSaltAt);
  foot.write(session, footSessionAt, 'hex');
  foot.writeBigUInt64LE(BigInt(number), footNumberAt);
  return summed(foot);
}

/** Undefined when it does not end with a whole foot. */
export function decodeFoot(bytes: Buffer): ExtentFoot | undefined {
  if (bytes.length < footBytes) return undefined;
  const foot = bytes.subarray(bytes.length - footBytes);
  if (!isSummed(foot, footMagic)) return undefined;
  return {
    session: foot.toString('hex', footSessionAt, footNumberAt),
    number: Number(foot.readBigUInt64LE(footNumberAt)),
    salt: foot.readUInt32LE(footSaltAt),
    bytes: Number(foot.readBigUInt64LE(bytesAt)),
    headBytes: foot.readUInt32LE(headBytesAt),
  };
}

export function isOf(part: ExtentHead | ExtentFoot, { session, number }: ExtentPlace): boolean {
  return part.session === session && part.number === number;
}

export function blocksOf(bytes: number): number {
  return Math.ceil(bytes / blockBytes);
}

/** The length of the file of an extent. */
export function fileBytesOf({ bytes, headBytes }: ExtentFoot): number {
  return headBytes + bytes + blocksOf(bytes) * checksumBytes + footBytes;
}

/**
 * Where the checksum of a block begins. It depends on the file and on the place of the block, so
 * that no other block passes for it.
 */
export function blockSeed(salt: number, block: number): number {
  return (salt ^ block) >>> 0;
}

function summed(part: Buffer): Buffer {
  part.writeUInt32LE(crc32(part.subarray(summedAt)), sumAt);
  return part;
}

function isSummed(part: Buffer, magic: Buffer): boolean {
  return (
    part.subarray(magicAt, magic.length).equals(magic) &&
    crc32(part.subarray(summedAt)) === part.readUInt32LE(sumAt)
  );
}
