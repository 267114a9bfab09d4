import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { ForwardClock } from '../../base/forward-clock.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import type { Entry, Put, Store } from '../../kv/store.js';
import { overtaken, untilCommitted } from '../containers/until-committed.js';
import { formatMessageId } from './message-id.js';
import { encodeMoment } from './message-keys.js';
import { decodeMessageState, encodeMessageState, type MessageState } from './message-state.js';
import { decodeMessageText, textBytes } from './message-text.js';
import type { OpenQueue } from './open-queues.js';
import { encodePopReceipt } from './pop-receipt.js';
import type { DequeuedMessage, Dequeue } from './types.js';

/** Attempts of one request against consumers in other processes. */
const attemptsMax = 100;
/** After a conflict, up to this many messages are skipped; doubled each time. */
const passOverMin = 32;
const passOverMax = 1_024;

export interface DequeueContext {
  readonly store: Store;
  readonly clock: ForwardClock;
  readonly randomness: Randomness;
}

/**
 * Takes up to `count` visible messages, oldest first: by the start of their visibility, then by
 * insertion. One commit checks that none of them has changed and hides them all, so only one caller
 * gets a message. After a conflict with another process, the next attempt starts further on.
 */
export async function dequeue(
  context: DequeueContext,
  queue: OpenQueue,
  options: Dequeue & MemoryOption,
): Promise<readonly DequeuedMessage[]> {
  let window = 0;
  return untilCommitted(attemptsMax, async () => {
    const nowMicros = context.clock.nowMicros();
    const passOver = window === 0 ? 0 : upTo(window, context.randomness);
    const entries = await queue.cursor.claim({ nowMicros, count: options.count, passOver });
    if (entries.length === 0) {
      if (passOver === 0) return [];
      window = 0;
      return overtaken;
    }
    const taken = await takeClaimed(context, queue, entries, { ...options, nowMicros });
    if (taken !== undefined) return taken;
    window = Math.min(Math.max(2 * window, passOverMin), passOverMax);
    return overtaken;
  });
}

interface MemoryOption {
  readonly memory: MemoryBudget | undefined;
}

interface TakeOptions extends MemoryOption {
  readonly nowMicros: number;
  readonly visibilitySeconds: number;
}

/** Returns undefined, and takes nothing, when one of the messages has changed. */
async function takeClaimed(
  context: DequeueContext,
  queue: OpenQueue,
  entries: readonly Entry[],
  options: TakeOptions,
): Promise<readonly DequeuedMessage[] | undefined> {
  try {
    const taken = await take(context.store, queue, entries, options);
    if (taken === undefined) queue.cursor.release(entries);
    else queue.cursor.settle(entries);
    return taken;
  } catch (error) {
    queue.cursor.release(entries);
    throw error;
  }
}

interface TakenMessage {
  readonly id: Bytes;
  readonly state: MessageState;
}

async function take(
  store: Store,
  { keys }: OpenQueue,
  entries: readonly Entry[],
  { nowMicros, visibilitySeconds, memory }: TakeOptions,
): Promise<readonly DequeuedMessage[] | undefined> {
  const nextVisibleMicros = nowMicros + visibilitySeconds * 1_000_000;
  const puts: Put[] = [];
  const taken = entries.map(({ key, value }): TakenMessage => {
    const { id } = keys.read(key);
    const before = decodeMessageState(value);
    const state = { ...before, dequeueCount: before.dequeueCount + 1 };
    puts.push(
      // A message has one state, so its next place is free.
      {
        key: keys.visibility(nextVisibleMicros, id),
        value: encodeMessageState(state),
        isNew: true,
      },
      { key: keys.expiry(state.expiresMicros, id), value: encodeMoment(nextVisibleMicros) },
    );
    return { id, state };
  });
  const ids = new Set(taken.map(({ id }) => nameOfBytes(id)));
  // One has changed between two reads of the search.
  if (ids.size < taken.length) return undefined;
  const texts = await store.getMany(taken.map(({ id }) => keys.text(id)));
  if (texts.includes(undefined)) return undefined;
  const bytes = textBytes(texts);
  memory?.hold(bytes);
  const result = await store.commit({
    checks: entries.map(({ key, version }) => ({ key, version })),
    puts,
    deletes: entries.map(({ key }) => key),
  });
  if (!result.ok) return undefined;
  await memory?.enter(bytes);
  return taken.map(({ id, state }, index) => {
    const text = texts[index];
    invariant(text !== undefined, 'a message that was taken has a text');
    return {
      id: formatMessageId(id),
      insertedMicros: state.insertedMicros,
      expiresMicros: state.expiresMicros,
      dequeueCount: state.dequeueCount,
      text: decodeMessageText(text.value),
      nextVisibleMicros,
      popReceipt: encodePopReceipt({ id, nextVisibleMicros, version: result.version }),
    };
  });
}

/** A random integer from 1 to `limit`. */
function upTo(limit: number, randomness: Randomness): number {
  const bytes = randomness.bytes(2);
  return 1 + ((((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) % limit);
}
