import { equalBytes, type Bytes } from '../../base/bytes.js';
import { messageIdBytes } from './message-id.js';

/**
 * Identifies the state of a dequeued message. `nextVisibleMicros` locates the state, `version` is
 * the commit that wrote it: any later change has a new version.
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

/** Base64 without the characters that a URL must escape, because clients forget to. */
export function encodePopReceipt({ id, nextVisibleMicros, version }: PopReceipt): string {
  const bytes = Buffer.allocUnsafe(receiptBytes);
  bytes[0] = receiptFormat;
  bytes.set(id, 1);
  bytes.writeDoubleBE(nextVisibleMicros, visibleAt);
  bytes.writeDoubleBE(version, versionAt);
  return bytes.toString('base64url');
}

/** Undefined for a malformed receipt. */
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
