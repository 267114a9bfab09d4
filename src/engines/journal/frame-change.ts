import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { readWhole, writeWhole } from './whole-number.js';

/** A put or a deletion of one key. */
export interface Change {
  readonly key: Bytes;
  /** Absent: the key is deleted. */
  readonly value: Bytes | undefined;
  /** The version of the commit; of an ingested entry, its own. */
  readonly version: number;
}

/*
 * Little endian, whole numbers:
 *
 *   0 bytes of the key (2) · 2 put or delete (2) · 4 bytes of the value · 8 version (8) · 16 key ·
 *   value
 */
const [changeTypeAt, valueLengthAt, versionAt] = [2, 4, 8];
const changeHeadBytes = 16;
const [putType, deleteType] = [1, 2];

/** The size of a change in a frame. */
export function changeBytes({ key, value }: Pick<Change, 'key' | 'value'>): number {
  return changeHeadBytes + key.length + (value?.length ?? 0);
}

export function writeChange(bytes: Buffer, { key, value, version }: Change, at: number): void {
  bytes.writeUInt16LE(key.length, at);
  bytes.writeUInt16LE(value === undefined ? deleteType : putType, at + changeTypeAt);
  bytes.writeUInt32LE(value?.length ?? 0, at + valueLengthAt);
  writeWhole(bytes, version, at + versionAt);
  const keyStart = at + changeHeadBytes;
  bytes.set(key, keyStart);
  if (value !== undefined) bytes.set(value, keyStart + key.length);
}

/**
 * A change that is decoded on access from an intact frame. Key and value are views of the frame:
 * a table holds many changes, and few of them are read.
 */
export class FrameChange implements Change {
  readonly memory: Buffer;
  readonly at: number;

  constructor(memory: Buffer, at: number) {
    this.memory = memory;
    this.at = at;
  }

  get key(): Bytes {
    const start = this.at + changeHeadBytes;
    return this.memory.subarray(start, start + this.#keyLength);
  }

  /** `nameOfBytes` of the key. */
  get name(): string {
    const start = this.at + changeHeadBytes;
    return nameOfBytes(this.memory, start, start + this.#keyLength);
  }

  get isDeletion(): boolean {
    return this.memory.readUInt16LE(this.at + changeTypeAt) === deleteType;
  }

  get value(): Bytes | undefined {
    if (this.isDeletion) return undefined;
    const start = this.at + changeHeadBytes + this.#keyLength;
    return this.memory.subarray(start, start + this.#valueLength);
  }

  get version(): number {
    return readWhole(this.memory, this.at + versionAt);
  }

  /** The size of the change in its frame. */
  get bytes(): number {
    return changeHeadBytes + this.#keyLength + this.#valueLength;
  }

  get #keyLength(): number {
    return this.memory.readUInt16LE(this.at);
  }

  get #valueLength(): number {
    return this.memory.readUInt32LE(this.at + valueLengthAt);
  }
}
