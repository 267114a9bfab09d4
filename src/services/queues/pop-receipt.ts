import { equalBytes, type Bytes } from '../../base/bytes.js';
import { messageIdBytes } from './message-id.js';

/**
 * What proves that a message is held in its present state. `nextVisibleMicros` finds the state,
 * `version` is the commit that made it: whoever changes the state in between makes a new version.
 */
export interface PopReceipt {
  readonly id: Bytes;
  readonly nextVisibleMicros: number;
  readonly version: number;
}

const receiptFormat = 1;
const visibleAt = 1 + messageIdBytes;
const versionAt = visibleAt + 8;
const receiptBytes = versionAt + 8;

const receiptText = /^[A-Za-z0-9_-]{44}$/;

/** Base64 without the characters that a URL would have to escape: clients forget to. */
export function encodePopReceipt({ id, nextVisibleMicros, version }: PopReceipt): string {
  const bytes = Buffer.allocUnsafe(receiptBytes);
  bytes[0] = receiptFormat;
  bytes.set(id, 1);
  bytes.writeDoubleBE(nextVisibleMicros, visibleAt);
  bytes.writeDoubleBE(version, versionAt);
  return bytes.toString('base64url');
}

/** undefined for text that no receipt has. */
export function decodePopReceipt(text: string): PopReceipt | undefined {
  if (!receiptText.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const nextVisibleMicros = bytes.readDoubleBE(visibleAt);
  const version = bytes.readDoubleBE(versionAt);
  const isNumber = isMoment(nextVisibleMicros) && isMoment(version);
  if (bytes[0] !== receiptFormat || !isNumber) return undefined;
  return { id: bytes.subarray(1, visibleAt), nextVisibleMicros, version };
}

export function isReceiptOf(receipt: PopReceipt, id: Bytes): boolean {
  return equalBytes(receipt.id, id);
}

function isMoment(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
