import { asBuffer, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { KeyRange } from '../../kv/store.js';
import {
  appendNumber,
  appendString,
  appendTuple,
  decodeTuple,
  prefixRange,
} from '../../kv/tuple.js';

// Permanent: these values are in every data directory. See docs/internals/queue-keys.md.
const partition = '';
const countKind = 0;
const textKind = 1;
const visibilityKind = 2;
const expiryKind = 3;

/** The greatest time that a key can hold. */
const momentMax = Number.MAX_SAFE_INTEGER;

/**
 * The keys of one queue's messages. A message has three entries, all of one partition:
 *
 * - its text, by id;
 * - its state, by visible time and id: the order of dequeueing;
 * - its expiry entry, by expiry and id, with the visible time that locates the state.
 *
 * Dequeueing a message moves its state and does not touch the text.
 */
export class MessageKeys {
  /** The counter of stored messages. */
  readonly count: Bytes;
  readonly #text: Bytes;
  readonly #visibility: Bytes;
  readonly #expiry: Bytes;

  /** `queuePrefix`: the prefix of the queue's container. */
  constructor(queuePrefix: Bytes) {
    const prefix = appendString(queuePrefix, partition);
    this.count = appendNumber(prefix, countKind);
    this.#text = appendNumber(prefix, textKind);
    this.#visibility = appendNumber(prefix, visibilityKind);
    this.#expiry = appendNumber(prefix, expiryKind);
  }

  text(id: Bytes): Bytes {
    return appendTuple(this.#text, [id]);
  }

  visibility(nextVisibleMicros: number, id: Bytes): Bytes {
    return appendTuple(this.#visibility, [nextVisibleMicros, id]);
  }

  expiry(expiresMicros: number, id: Bytes): Bytes {
    return appendTuple(this.#expiry, [Math.min(expiresMicros, momentMax), id]);
  }

  /** States of messages that are visible now, expired ones included; oldest first. */
  visibleAt(nowMicros: number): KeyRange {
    return { start: this.#visibility, end: appendNumber(this.#visibility, nowMicros + 1) };
  }

  /** Expiry entries of messages that have expired by now. */
  expiredAt(nowMicros: number): KeyRange {
    return { start: this.#expiry, end: appendNumber(this.#expiry, nowMicros + 1) };
  }

  /** All expiry entries, in order. */
  expiries(): KeyRange {
    return prefixRange(this.#expiry);
  }

  /** The time and the id in the key of a state or an expiry entry. */
  read(key: Bytes): { readonly micros: number; readonly id: Bytes } {
    const [micros, id] = decodeTuple(key, this.#visibility.length);
    invariant(typeof micros === 'number' && typeof id === 'object', 'a message key is malformed');
    return { micros, id };
  }
}

/** The value of an expiry entry: the time from which the message is visible. */
export function encodeMoment(micros: number): Bytes {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(micros, 0);
  return bytes;
}

export function decodeMoment(value: Bytes): number {
  return asBuffer(value).readDoubleBE(0);
}
