import type { Metadata } from '../../src/model/resources/metadata.js';
import type { SignedIdentifier } from '../../src/model/resources/signed-identifier.js';

// Written from queue-service §7 to §9. The model ignores keys, the content of receipts, reclaiming
// and multiple processes.

/** Fri, 31 Dec 9999 23:59:59 GMT: the expiration of what never expires. */
export const neverMicros = 253_402_300_799_000_000;
const microsPerSecond = 1_000_000;

export function secondsAfter(micros: number, seconds: number): number {
  return Math.min(micros + seconds * microsPerSecond, neverMicros);
}

export interface ModelMessage {
  readonly id: string;
  readonly insertedMicros: number;
  readonly expiresMicros: number;
  nextVisibleMicros: number;
  dequeueCount: number;
  text: string;
  receipt: string;
  readonly oldReceipts: string[];
}

/** What the sender of a message gave, and what the server chose. */
export interface PutInModel {
  readonly id: string;
  readonly receipt: string;
  readonly text: string;
  readonly visibilitySeconds: number;
  readonly timeToLiveSeconds: number;
}

export class ModelQueue {
  metadata: Metadata;
  identifiers: readonly SignedIdentifier[] = [];
  readonly #messages = new Map<string, ModelMessage>();

  constructor(metadata: Metadata) {
    this.metadata = metadata;
  }

  put(now: number, { id, receipt, text, ...times }: PutInModel): ModelMessage {
    const message: ModelMessage = {
      id,
      insertedMicros: now,
      expiresMicros: secondsAfter(now, times.timeToLiveSeconds),
      nextVisibleMicros: now + times.visibilitySeconds * microsPerSecond,
      dequeueCount: 0,
      text,
      receipt,
      oldReceipts: [],
    };
    this.#messages.set(id, message);
    return message;
  }

  /** Unexpired messages, visible or hidden, in the order of their times of visibility. */
  live(now: number): ModelMessage[] {
    return [...this.#messages.values()]
      .filter((message) => now < message.expiresMicros)
      .sort(inTurn);
  }

  visible(now: number): ModelMessage[] {
    return this.live(now).filter((message) => message.nextVisibleMicros <= now);
  }

  find(now: number, id: string): ModelMessage | undefined {
    const message = this.#messages.get(id);
    return message !== undefined && now < message.expiresMicros ? message : undefined;
  }

  remove(id: string): void {
    this.#messages.delete(id);
  }

  clear(): void {
    this.#messages.clear();
  }

  /** Removes expired messages, which has no visible effect. */
  tidy(now: number): void {
    for (const { id, expiresMicros } of this.#messages.values()) {
      if (expiresMicros <= now) this.#messages.delete(id);
    }
  }
}

function inTurn(left: ModelMessage, right: ModelMessage): number {
  if (left.nextVisibleMicros !== right.nextVisibleMicros) {
    return left.nextVisibleMicros - right.nextVisibleMicros;
  }
  return left.id < right.id ? -1 : 1;
}

/** Replaces the current receipt. */
export function renew(message: ModelMessage, receipt: string): void {
  message.oldReceipts.push(message.receipt);
  message.receipt = receipt;
}

export function hide(message: ModelMessage, now: number, seconds: number): void {
  message.nextVisibleMicros = now + seconds * microsPerSecond;
}

/**
 * Names are compared without case, values exactly; the order does not matter (queue-service §7.1).
 */
export function isSameMetadata(left: Metadata, right: Metadata): boolean {
  const sorted = (metadata: Metadata) =>
    metadata.map(([name, value]) => `${name.toLowerCase()}=${value}`).sort();
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

/** The queues of one account by name. */
export type ModelAccount = Map<string, ModelQueue>;

/** Names in ordinal order (queue-service §6.1). */
export function queueNames(account: ModelAccount, prefix: string, from: string): string[] {
  return [...account.keys()]
    .filter((name) => name.startsWith(prefix) && name >= from)
    .sort((left, right) => (left < right ? -1 : 1));
}
