import { asBuffer, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';

/** The state of a message, without its text. */
export interface MessageState {
  readonly insertedMicros: number;
  readonly expiresMicros: number;
  readonly dequeueCount: number;
}

// Permanent: these bytes are in every data directory. See docs/internals/queue-keys.md.
const stateFormat = 1;
const countAt = 1;
const insertedAt = 5;
const expiresAt = 13;
const stateBytes = 21;
const dequeueCountMax = 2 ** 32 - 1;

export function encodeMessageState(state: MessageState): Bytes {
  const bytes = Buffer.allocUnsafe(stateBytes);
  bytes[0] = stateFormat;
  bytes.writeUInt32BE(Math.min(state.dequeueCount, dequeueCountMax), countAt);
  bytes.writeDoubleBE(state.insertedMicros, insertedAt);
  bytes.writeDoubleBE(state.expiresMicros, expiresAt);
  return bytes;
}

export function decodeMessageState(value: Bytes): MessageState {
  const bytes = asBuffer(value);
  invariant(bytes[0] === stateFormat, `unknown format ${String(bytes[0])} of a message`);
  return {
    dequeueCount: bytes.readUInt32BE(countAt),
    insertedMicros: bytes.readDoubleBE(insertedAt),
    expiresMicros: bytes.readDoubleBE(expiresAt),
  };
}

/** Reads in place: `value` begins with a state and may be longer. */
export function expiryOfState(value: Bytes): number {
  return asBuffer(value).readDoubleBE(expiresAt);
}
