import {
  bytesAt,
  crc64Program,
  foldedMin,
  roomBytes,
  stride,
  type Crc64Program,
} from './crc64-program.js';

// CRC-64/NVME (blob-service §11.4): reflected, all ones before and after.

const polynomial = 0x9a6c9329ac4bc9b5n;
const entries = 256;
const wordBytes = 8;

/** Table 0 is for the last byte of a step; each table behind it for one byte more that follows. */
function fillTables({ memory }: Crc64Program): void {
  const tables = new DataView(memory.buffer);
  const entry = (index: number): bigint => tables.getBigUint64(index * wordBytes, true);
  const setEntry = (index: number, value: bigint): void => {
    tables.setBigUint64(index * wordBytes, value, true);
  };
  for (let byte = 0; byte < entries; byte += 1) {
    let value = BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) {
      value = (value & 1n) === 1n ? (value >> 1n) ^ polynomial : value >> 1n;
    }
    setEntry(byte, value);
  }
  for (let index = entries; index < stride * entries; index += 1) {
    const before = entry(index - entries);
    setEntry(index, (before >> 8n) ^ entry(Number(before & 0xffn)));
  }
}

let made: Crc64Program | undefined;

/** Made when it is needed first. */
function programWithTables(): Crc64Program {
  if (made !== undefined) return made;
  made = crc64Program();
  fillTables(made);
  return made;
}

/** A checksum of bytes that come in pieces. */
export class Crc64 {
  #sum = -1n;

  update(bytes: Uint8Array): this {
    const { memory, sum, fold } = programWithTables();
    for (let at = 0; at < bytes.length; at += roomBytes) {
      const part = bytes.subarray(at, at + roomBytes);
      memory.set(part, bytesAt);
      const take = part.length < foldedMin ? sum : fold;
      this.#sum = take(this.#sum, bytesAt, bytesAt + part.length);
    }
    return this;
  }

  /** The eight bytes of the sum so far, in the order of the header. */
  digest(): Buffer {
    const bytes = Buffer.allocUnsafe(wordBytes);
    bytes.writeBigInt64LE(~this.#sum);
    return bytes;
  }
}

/** The checksum of some bytes, as `Crc64.digest`. */
export function crc64(bytes: Uint8Array): Buffer {
  return new Crc64().update(bytes).digest();
}
