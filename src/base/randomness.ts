import { randomBytes, randomUUID } from 'node:crypto';
import type { Bytes } from './bytes.js';

/** The only source of chance. Injected, so that a run can be repeated from its seed. */
export interface Randomness {
  bytes(count: number): Bytes;
  /** A version 4 UUID in canonical lower case. */
  uuid(): string;
}

export const systemRandomness: Randomness = {
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
};
