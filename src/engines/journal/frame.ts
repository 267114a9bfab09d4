import { crc32 } from 'node:zlib';
import { changeBytes, FrameChange, writeChange, type Change } from './frame-change.js';
import { readWhole, writeWhole } from './whole-number.js';

/**
 * The smallest unit that a disk writes; an interrupted write can damage all of it. Frames consist
 * of whole blocks, so that writing one cannot damage the one before.
 */
export const blockBytes = 4096;

/**
 * The unit of writing: the changes of commits that are acknowledged together. A `restart` has no
 * changes, and invalidates all frames before it.
 */
export interface Frame {
  readonly kind: 'changes' | 'restart';
  /** Increases by one from frame to frame. */
  readonly sequence: number;
  /** The greatest version given out so far. */
  readonly lastVersion: number;
  /** In the order in which they are applied. */
  readonly changes: readonly Change[];
}

/*
 * Little endian, whole numbers:
 *
 *   0 mark · 4 checksum of all that follows, begun with the file's secret · 8 bytes of the frame
 *   without the padding · 12 kind · 16 sequence (8) · 24 last version (8) · 32 number of changes ·
 *   36 zero
 *
 * then each change: see `frame-change.ts`.
 */
const mark = 0x4d524654;
const [checksumAt, lengthAt, kindAt, sequenceAt, lastVersionAt, countAt] = [4, 8, 12, 16, 24, 32];
const headBytes = 40;
const kinds = ['changes', 'restart'] as const;

/** The size on disk of a frame whose changes have `changesBytes`. */
export function frameBytes(changesBytes: number): number {
  return Math.ceil((headBytes + changesBytes) / blockBytes) * blockBytes;
}

export interface EncodedFrame {
  readonly bytes: Buffer;
  /** The same changes, as views of `bytes`. */
  readonly changes: readonly FrameChange[];
}

/** `secret`: that of the file. A value that imitates a frame does not have it. */
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
  /** The size on disk, padding included. */
  readonly bytes: number;
}

/**
 * The frame at `start`; undefined when there is none, or when it is incomplete or damaged. Without
 * a secret, damage is not detected.
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
