import { crc32 } from 'node:zlib';
import { changeBytes, FrameChange, writeChange, type Change } from './frame-change.js';
import { readWhole, writeWhole } from './whole-number.js';

/**
 * A disk writes blocks of this size at the least, whole or not. A frame begins with a block and
 * fills up its last one, so that writing a frame cannot harm the one before it.
 */
export const blockBytes = 4096;

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
 * then each change: see `frame-change.ts`.
 */
const mark = 0x4d524654;
const [checksumAt, lengthAt, kindAt, sequenceAt, lastVersionAt, countAt] = [4, 8, 12, 16, 24, 32];
const headBytes = 40;
const kinds = ['changes', 'restart'] as const;

/** The bytes of a frame on disk, whose changes take so many. */
export function frameBytes(changesBytes: number): number {
  return Math.ceil((headBytes + changesBytes) / blockBytes) * blockBytes;
}

export interface EncodedFrame {
  readonly bytes: Buffer;
  /** The same changes where they stand in `bytes`. */
  readonly changes: readonly FrameChange[];
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
    writeChange(bytes, change, at);
    const written = new FrameChange(bytes, at);
    at += written.bytes;
    return written;
  });
  bytes.fill(0, length);
  bytes.writeUInt32LE(crc32(bytes.subarray(lengthAt, length), secret), checksumAt);
  return { bytes, changes };
}

export interface FoundFrame extends Frame {
  readonly changes: readonly FrameChange[];
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
  const changes: FrameChange[] = [];
  const count = bytes.readUInt32LE(start + countAt);
  for (let at = start + headBytes; changes.length < count;) {
    const change = new FrameChange(bytes, at);
    changes.push(change);
    at += change.bytes;
  }
  return {
    kind,
    sequence: readWhole(bytes, start + sequenceAt),
    lastVersion: readWhole(bytes, start + lastVersionAt),
    changes,
    bytes: frameBytes(length - headBytes),
  };
}
