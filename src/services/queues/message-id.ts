import { asBuffer, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';

export const messageIdBytes = 16;

const guid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const timeMax = 2 ** 48 - 1;
const countMax = 2 ** 32 - 1;

/**
 * Generates message ids: version 7 UUIDs (RFC 9562), which sort by time. The ids of one source
 * strictly increase, so messages within one clock tick keep their order. Sources in other processes
 * differ in 42 random bits.
 *
 * Layout: 48 bits of milliseconds, version, the upper 12 bits of a counter, variant, its lower 20
 * bits, 42 bits of the source.
 */
export class MessageIds {
  readonly #clock: Clock;
  readonly #source: Bytes;
  #lastMs = 0;
  #count = 0;

  constructor(clock: Clock, randomness: Randomness) {
    this.#clock = clock;
    this.#source = randomness.bytes(6);
  }

  next(): Bytes {
    const nowMs = Math.min(Math.floor(this.#clock.nowMicros() / 1000), timeMax);
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      this.#count = 0;
    } else if (this.#count === countMax) {
      this.#lastMs += 1;
      this.#count = 0;
    } else {
      this.#count += 1;
    }
    return this.#encode(this.#lastMs, this.#count);
  }

  #encode(ms: number, count: number): Bytes {
    const id = Buffer.allocUnsafe(messageIdBytes);
    id.writeUIntBE(ms, 0, 6);
    id[6] = 0x70 | (count >>> 28);
    id[7] = count >>> 20;
    id[8] = 0x80 | ((count >>> 14) & 0x3f);
    id[9] = count >>> 6;
    id[10] = ((count & 0x3f) << 2) | ((this.#source[0] ?? 0) & 0x03);
    id.set(this.#source.subarray(1), 11);
    return id;
  }
}

/** The text form: lower-case hexadecimal in the groups of a GUID. */
export function formatMessageId(id: Bytes): string {
  const hex = asBuffer(id).toString('hex', 0, messageIdBytes);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${groups.join('-')}-${hex.slice(20)}`;
}

/** The bytes of an id in any case; undefined for text that is no GUID. */
export function parseMessageId(text: string): Bytes | undefined {
  return guid.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined;
}
