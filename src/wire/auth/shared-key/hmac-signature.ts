import { createHmac, hash, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { Bytes } from '../../../base/bytes.js';

/** The bytes that SHA-256 takes at a time. */
const blockBytes = 64;
const hashBytes = 32;
/** The most bytes of UTF-8 for one UTF-16 code unit. */
const utf8BytesPerUnit = 3;
/** The shared buffer holds texts up to this length; longer ones are rare. */
const sharedTextUnits = 1024;

/** A key combined with the constants of HMAC (RFC 2104): what is hashed before the text. */
interface Pads {
  readonly inner: Buffer;
  readonly outer: Buffer;
}

const padsOf = new WeakMap<KeyObject, Pads>();
/** The inner pad of the last key, and a text behind it. */
const innerInput = Buffer.alloc(blockBytes + sharedTextUnits * utf8BytesPerUnit);
/** The outer pad of the last key, and the inner hash behind it. */
const outerInput = Buffer.alloc(blockBytes + hashBytes);
let lastPads: Pads | undefined;

/** Base64 of HMAC-SHA256. */
export function signature(key: KeyObject, text: string): string {
  if (text.length > sharedTextUnits) return anySignature(key, text);
  const pads = padsOf.get(key) ?? makePads(key);
  if (pads !== lastPads) {
    pads.inner.copy(innerInput);
    pads.outer.copy(outerInput);
    lastPads = pads;
  }
  const end = blockBytes + innerInput.write(text, blockBytes);
  // Two hashes cost half of what node's object for an HMAC does.
  const inner = hash('sha256', innerInput.subarray(0, end), 'binary');
  outerInput.write(inner, blockBytes, 'latin1');
  return hash('sha256', outerInput, 'base64');
}

function anySignature(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64');
}

function makePads(key: KeyObject): Pads {
  const secret = key.export();
  const bytes = secret.length > blockBytes ? hash('sha256', secret, 'buffer') : secret;
  const pads = { inner: padOf(bytes, 0x36), outer: padOf(bytes, 0x5c) };
  padsOf.set(key, pads);
  return pads;
}

function padOf(bytes: Bytes, constant: number): Buffer {
  const pad = Buffer.alloc(blockBytes, constant);
  for (const [index, byte] of bytes.entries()) pad[index] = byte ^ constant;
  return pad;
}

/** True when one of the keys signed `text`. Takes constant time for a given length. */
export function signatureMatches(
  keys: readonly KeyObject[],
  text: string,
  presented: string,
): boolean {
  let matches = false;
  for (const key of keys) matches = equalText(signature(key, text), presented) || matches;
  return matches;
}

/** Compares the text, not the decoded bytes: two base64 texts can decode alike. */
function equalText(expected: string, presented: string): boolean {
  if (presented.length !== signatureBytes || expected.length !== signatureBytes) return false;
  expectedBytes.write(expected);
  // A non-ASCII character becomes bytes that base64 never contains, so it cannot match.
  if (presentedBytes.write(presented) !== signatureBytes) return false;
  return timingSafeEqual(expectedBytes, presentedBytes);
}

/** Base64 of 32 bytes. */
const signatureBytes = 44;
const expectedBytes = Buffer.alloc(signatureBytes);
const presentedBytes = Buffer.alloc(signatureBytes);
