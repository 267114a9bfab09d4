import { crc32 } from 'node:zlib';
import type { Bytes } from '../../base/bytes.js';
import { readWhole, writeWhole } from './whole-number.js';

/**
 * A disk writes blocks of this size at the least, whole or not. A frame begins with a block and
 * fills up its last one, so that writing a frame cannot harm the one before it.
 */
export const blockBytes = 4096;

/** What becomes of one key. */
export interface Change {
  readonly key: Bytes;
  /** Absent: the key is deleted. */
  readonly value: Bytes | undefined;
  /** Of the commit. An ingested entry has its own. */
  readonly version: number;
}

/**
 * What one write of the journal makes durable: commits that were acknowledged together. `restart`:
 * the base holds all that counts of the frames before, and they are never applied again.
 */
export interface Frame {
  readonly kind: 'changes' | 'restart';
  /** One more than that of the frame before. */
  readonly sequence: number;
  /** The greatest version given out so far. */
  readonly lastVersion: number;
  /** In the order in which they are applied. */
  readonly changes: readonly Change[];
}

/*
 * Little endian, whole numbers:
 *
 *   0 mark · 4 checksum of all that follows, from the file's secret on · 8 bytes of the frame without
 *   the filling · 12 kind · 16 sequence (8) · 24 last version (8) · 32 number of changes · 36 zero
 *
 * then each change:
 *
 *   0 bytes of the key (2) · 2 put or delete (2) · 4 bytes of the value · 8 version (8) · 16 key ·
 *   value
 */
const mark = 0x4d524654;
const [checksumAt, lengthAt, kindAt, sequenceAt, lastVersionAt, countAt] = [4, 8, 12, 16, 24, 32];
const headBytes = 40;
const [changeTypeAt, valueLengthAt, versionAt] = [2, 4, 8];
const changeHeadBytes = 16;
const [putType, deleteType] = [1, 2];
const kinds = ['changes', 'restart'] as const;

/** The bytes that a change takes in a frame. */
export function changeBytes({ key, value }: Pick<Change, 'key' | 'value'>): number {
  return changeHeadBytes + key.length + (value?.length ?? 0);
}

/** The bytes of a frame on disk, whose changes take so many. */
export function frameBytes(changesBytes: number): number {
  return Math.ceil((headBytes + changesBytes) / blockBytes) * blockBytes;
}

export interface EncodedFrame {
  readonly bytes: Buffer;
  /** The same changes, whose keys and values are parts of `bytes`. */
  readonly changes: readonly Change[];
}

/** `secret` is that of the file: a value that looks like a frame is none without it. */
export function encodeFrame(frame: Frame, secret: number): EncodedFrame {
  let length = headBytes;
  for (const change of frame.changes) length += changeBytes(change);
  const bytes = Buffer.allocUnsafeSlow(frameBytes(length - headBytes));
  bytes.writeUInt32LE(mark, 0);
  bytes.writeUInt32LE(length, lengthAt);
  bytes.writeUInt32LE(kinds.indexOf(frame.kind), kindAt);
  writeWhole(bytes, frame.sequence, sequenceAt);
  writeWhole(bytes, frame.lastVersion, lastVersionAt);
  bytes.writeUInt32LE(frame.changes.length, countAt);
  bytes.writeUInt32LE(0, countAt + 4);
  let at = headBytes;
  const changes = frame.changes.map((change) => {
    const written = writeChange(bytes, change, at);
    at += changeBytes(change);
    return written;
  });
  bytes.fill(0, length);
  bytes.writeUInt32LE(crc32(bytes.subarray(lengthAt, length), secret), checksumAt);
  return { bytes, changes };
}

export interface FoundFrame extends Frame {
  /** On disk, with the filling. */
  readonly bytes: number;
}

/**
 * The frame that begins there; undefined when none does, or not all of it is what was written.
 * Without a secret that is not looked at.
 */
export function decodeFrame(
  bytes: Buffer,
  start: number,
  secret: number | undefined,
): FoundFrame | undefined {
  if (bytes.length < start + headBytes || bytes.readUInt32LE(start) !== mark) return undefined;
  const length = bytes.readUInt32LE(start + lengthAt);
  if (length < headBytes || start + length > bytes.length) return undefined;
  const content = bytes.subarray(start + lengthAt, start + length);
  const checksum = bytes.readUInt32LE(start + checksumAt);
  if (secret !== undefined && crc32(content, secret) !== checksum) return undefined;
  const kind = kinds[bytes.readUInt32LE(start + kindAt)];
  if (kind === undefined) return undefined;
  const changes: Change[] = [];
  const count = bytes.readUInt32LE(start + countAt);
  for (let at = start + headBytes; changes.length < count;) {
    const change = readChange(bytes, at);
    changes.push(change);
    at += changeBytes(change);
  }
  return {
    kind,
    sequence: readWhole(bytes, start + sequenceAt),
    lastVersion: readWhole(bytes, start + lastVersionAt),
    changes,
    bytes: frameBytes(length - headBytes),
  };
}

function writeChange(bytes: Buffer, { key, value, version }: Change, at: number): Change {
  bytes.writeUInt16LE(key.length, at);
  bytes.writeUInt16LE(value === undefined ? deleteType : putType, at + changeTypeAt);
  bytes.writeUInt32LE(value?.length ?? 0, at + valueLengthAt);
  writeWhole(bytes, version, at + versionAt);
  const keyStart = at + changeHeadBytes;
  const keyEnd = keyStart + key.length;
  bytes.set(key, keyStart);
  const ownKey = bytes.subarray(keyStart, keyEnd);
  if (value === undefined) return { key: ownKey, value, version };
  bytes.set(value, keyEnd);
  return { key: ownKey, value: bytes.subarray(keyEnd, keyEnd + value.length), version };
}

/** Within a frame whose checksum was right, so that its lengths are. */
function readChange(bytes: Buffer, at: number): Change {
  const keyStart = at + changeHeadBytes;
  const keyEnd = keyStart + bytes.readUInt16LE(at);
  const version = readWhole(bytes, at + versionAt);
  const key = bytes.subarray(keyStart, keyEnd);
  if (bytes.readUInt16LE(at + changeTypeAt) === deleteType) {
    return { key, value: undefined, version };
  }
  const value = bytes.subarray(keyEnd, keyEnd + bytes.readUInt32LE(at + valueLengthAt));
  return { key, value, version };
}
