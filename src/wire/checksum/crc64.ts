import { endianness } from 'node:os';

// CRC-64/NVME (blob-service §11.4): reflected, all ones before and after. A sum is kept in two
// halves of 32 bits, because integers of 64 bits are many times slower.

/** The polynomial 0x9A6C9329AC4BC9B5, in halves. */
const polynomialHigh = 0x9a6c9329 | 0;
const polynomialLow = 0xac4bc9b5 | 0;

/** Bytes that one step takes, each through a table of its own. */
const stride = 8;
const entries = 256;

const low = new Int32Array(stride * entries);
const high = new Int32Array(stride * entries);

/** Table 0 is for the last byte of a step; each table before it for one byte more behind it. */
function fillTables(): void {
  for (let byte = 0; byte < entries; byte += 1) {
    let [l, h] = [byte, 0];
    for (let bit = 0; bit < 8; bit += 1) {
      const carry = l & 1;
      l = (l >>> 1) | (h << 31);
      h >>>= 1;
      if (carry === 1) [l, h] = [l ^ polynomialLow, h ^ polynomialHigh];
    }
    low[byte] = l;
    high[byte] = h;
  }
  for (let index = entries; index < stride * entries; index += 1) {
    const l = low[index - entries] ?? 0;
    const h = high[index - entries] ?? 0;
    low[index] = ((l >>> 8) | (h << 24)) ^ (low[l & 255] ?? 0);
    high[index] = (h >>> 8) ^ (high[l & 255] ?? 0);
  }
}
fillTables();

/** The words of a step are read as the machine has them, which must be as the sum has them. */
const readsWords = endianness() === 'LE';
const wordBytes = 4;

/** A checksum of bytes that come in pieces. */
export class Crc64 {
  #low = -1;
  #high = -1;

  update(bytes: Uint8Array): this {
    const toWord = (wordBytes - (bytes.byteOffset % wordBytes)) % wordBytes;
    const stepped = readsWords ? bytes.length - toWord : 0;
    if (stepped < stride) {
      this.#byBytes(bytes, 0, bytes.length);
      return this;
    }
    const steps = Math.floor(stepped / stride);
    const end = toWord + steps * stride;
    this.#byBytes(bytes, 0, toWord);
    this.#bySteps(new Int32Array(bytes.buffer, bytes.byteOffset + toWord, steps * 2));
    this.#byBytes(bytes, end, bytes.length);
    return this;
  }

  #byBytes(bytes: Uint8Array, start: number, end: number): void {
    let l = this.#low;
    let h = this.#high;
    for (let index = start; index < end; index += 1) {
      const entry = (l ^ (bytes[index] ?? 0)) & 255;
      l = ((l >>> 8) | (h << 24)) ^ (low[entry] ?? 0);
      h = (h >>> 8) ^ (high[entry] ?? 0);
    }
    this.#low = l;
    this.#high = h;
  }

  #bySteps(words: Int32Array): void {
    let l = this.#low;
    let h = this.#high;
    for (let index = 0; index < words.length; index += 2) {
      const a = l ^ (words[index] ?? 0);
      const b = h ^ (words[index + 1] ?? 0);
      const a0 = 1792 + (a & 255);
      const a1 = 1536 + ((a >>> 8) & 255);
      const a2 = 1280 + ((a >>> 16) & 255);
      const a3 = 1024 + (a >>> 24);
      const b0 = 768 + (b & 255);
      const b1 = 512 + ((b >>> 8) & 255);
      const b2 = 256 + ((b >>> 16) & 255);
      const b3 = b >>> 24;
      l =
        (low[a0] ?? 0) ^
        (low[a1] ?? 0) ^
        (low[a2] ?? 0) ^
        (low[a3] ?? 0) ^
        (low[b0] ?? 0) ^
        (low[b1] ?? 0) ^
        (low[b2] ?? 0) ^
        (low[b3] ?? 0);
      h =
        (high[a0] ?? 0) ^
        (high[a1] ?? 0) ^
        (high[a2] ?? 0) ^
        (high[a3] ?? 0) ^
        (high[b0] ?? 0) ^
        (high[b1] ?? 0) ^
        (high[b2] ?? 0) ^
        (high[b3] ?? 0);
    }
    this.#low = l;
    this.#high = h;
  }

  /** The eight bytes of the sum so far, in the order of the header. */
  digest(): Buffer {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeInt32LE(~this.#low, 0);
    bytes.writeInt32LE(~this.#high, 4);
    return bytes;
  }
}

/** The checksum of some bytes, as `Crc64.digest`. */
export function crc64(bytes: Uint8Array): Buffer {
  return new Crc64().update(bytes).digest();
}
