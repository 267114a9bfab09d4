import { createCipheriv, timingSafeEqual } from 'node:crypto';

// AES-SIV with one string of associated data (RFC 5297): deterministic authenticated encryption.
// Equal keys, associated data and plain texts give equal bytes, and nothing else is revealed.

const blockBytes = 16;
const zeroBlock = Buffer.alloc(blockBytes);

/** 32, 48 or 64 bytes: AES-128-SIV, AES-192-SIV or AES-256-SIV. */
export type SivKey = Uint8Array;

/** Returns the synthetic IV of 16 bytes, followed by as many bytes as the plain text has. */
export function sivEncrypt(key: SivKey, associated: Uint8Array, plain: Uint8Array): Uint8Array {
  const [macKey, cipherKey] = halvesOf(key);
  const iv = syntheticIv(macKey, associated, plain);
  return Buffer.concat([iv, counterMode(cipherKey, iv, plain)]);
}

/** Undefined unless the bytes were encrypted with this key and associated data. */
export function sivDecrypt(
  key: SivKey,
  associated: Uint8Array,
  bytes: Uint8Array,
): Uint8Array | undefined {
  if (bytes.length < blockBytes) return undefined;
  const [macKey, cipherKey] = halvesOf(key);
  const iv = bytes.subarray(0, blockBytes);
  const plain = counterMode(cipherKey, iv, bytes.subarray(blockBytes));
  return timingSafeEqual(iv, syntheticIv(macKey, associated, plain)) ? plain : undefined;
}

function halvesOf(key: SivKey): readonly [Uint8Array, Uint8Array] {
  return [key.subarray(0, key.length / 2), key.subarray(key.length / 2)];
}

function aesName(key: Uint8Array, mode: 'cbc' | 'ctr'): string {
  return `aes-${key.length * 8}-${mode}`;
}

/** Clears the bits that would carry across 32-bit counters, as section 2.5 demands. */
function counterMode(key: Uint8Array, iv: Uint8Array, bytes: Uint8Array): Buffer {
  const counter = Buffer.from(iv);
  counter.writeUInt8(counter.readUInt8(8) & 0x7f, 8);
  counter.writeUInt8(counter.readUInt8(12) & 0x7f, 12);
  const cipher = createCipheriv(aesName(key, 'ctr'), key, counter);
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
}

/** S2V of section 2.4 over two strings: the associated data and the plain text. */
function syntheticIv(key: Uint8Array, associated: Uint8Array, plain: Uint8Array): Buffer {
  const digest = xor(doubled(cmac(key, zeroBlock)), cmac(key, associated));
  if (plain.length >= blockBytes) {
    const end = plain.length - blockBytes;
    const last = xor(digest, plain.subarray(end));
    return cmac(key, Buffer.concat([plain.subarray(0, end), last]));
  }
  return cmac(key, xor(doubled(digest), padded(plain)));
}

/** AES-CMAC (RFC 4493): the last block of CBC over a message whose last block a subkey masks. */
function cmac(key: Uint8Array, message: Uint8Array): Buffer {
  const subkey = doubled(cbc(key, zeroBlock));
  const whole = message.length > 0 && message.length % blockBytes === 0;
  const end = whole ? message.length - blockBytes : message.length - (message.length % blockBytes);
  const last = whole
    ? xor(message.subarray(end), subkey)
    : xor(padded(message.subarray(end)), doubled(subkey));
  return cbc(key, Buffer.concat([message.subarray(0, end), last])).subarray(-blockBytes);
}

function cbc(key: Uint8Array, blocks: Uint8Array): Buffer {
  const cipher = createCipheriv(aesName(key, 'cbc'), key, zeroBlock).setAutoPadding(false);
  return Buffer.concat([cipher.update(blocks), cipher.final()]);
}

/** Doubles a block in GF(2^128). */
function doubled(block: Uint8Array): Buffer {
  const result = Buffer.alloc(blockBytes);
  let carry = 0;
  for (let index = blockBytes - 1; index >= 0; index -= 1) {
    const byte = block[index] ?? 0;
    result[index] = ((byte << 1) | carry) & 0xff;
    carry = byte >> 7;
  }
  result.writeUInt8(result.readUInt8(blockBytes - 1) ^ (carry * 0x87), blockBytes - 1);
  return result;
}

function xor(left: Uint8Array, right: Uint8Array): Buffer {
  return Buffer.from(left.map((byte, index) => byte ^ (right[index] ?? 0)));
}

/** Appends a one bit, and zeros up to a block. */
function padded(bytes: Uint8Array): Buffer {
  const block = Buffer.alloc(blockBytes);
  block.set(bytes);
  block.writeUInt8(0x80, bytes.length);
  return block;
}
