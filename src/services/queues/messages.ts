import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { invariant } from '../../base/invariant.js';
import type { ForwardClock } from '../../base/forward-clock.js';
import type { Entry, Put, Store } from '../../kv/store.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { neverMicros } from './limits.js';
import { formatMessageId, parseMessageId, type MessageIds } from './message-id.js';
import { encodeMoment, type MessageKeys } from './message-keys.js';
import { decodeMessageState, encodeMessageState, expiryOfState } from './message-state.js';
import { decodeMessageText, encodeMessageText, textBytes } from './message-text.js';
import type { OpenQueue } from './open-queues.js';
import { decodePopReceipt, encodePopReceipt, isReceiptOf, type PopReceipt } from './pop-receipt.js';
import type {
  HeldMessage,
  MessageChange,
  NewMessage,
  PeekedMessage,
  PutReceipt,
  Renewal,
} from './types.js';

export interface MessageContext {
  readonly store: Store;
  readonly clock: ForwardClock;
  readonly ids: MessageIds;
}

/** Adds a message with one commit and no read. */
export async function putMessage(
  { store, clock, ids }: MessageContext,
  keys: MessageKeys,
  message: NewMessage,
): Promise<PutReceipt> {
  const text = encodeMessageText(message.text);
  const insertedMicros = clock.nowMicros();
  const nextVisibleMicros = insertedMicros + message.visibilitySeconds * 1_000_000;
  const expiresMicros = Math.min(
    insertedMicros + message.timeToLiveSeconds * 1_000_000,
    neverMicros,
  );
  if (nextVisibleMicros >= expiresMicros) throw visibleTooLate(message.visibilitySeconds);
  const id = ids.next();
  const state = encodeMessageState({ insertedMicros, expiresMicros, dequeueCount: 0 });
  const result = await store.commit({
    checks: [],
    puts: [
      { key: keys.text(id), value: text, isNew: true },
      { key: keys.visibility(nextVisibleMicros, id), value: state, isNew: true },
      { key: keys.expiry(expiresMicros, id), value: encodeMoment(nextVisibleMicros), isNew: true },
    ],
    deletes: [],
    adds: [{ key: keys.count, delta: 1 }],
    grows: true,
  });
  invariant(result.ok, 'a commit without checks succeeds');
  clock.atLeast(result.version);
  const popReceipt = encodePopReceipt({ id, nextVisibleMicros, version: result.version });
  return {
    id: formatMessageId(id),
    insertedMicros,
    expiresMicros,
    popReceipt,
    nextVisibleMicros,
  };
}

/**
 * The first visible messages, without changing them. A message that is deleted between the two
 * reads is left out.
 */
export async function peekMessages(
  { store, clock }: MessageContext,
  { keys, cursor }: OpenQueue,
  { count, memory }: { readonly count: number; readonly memory: MemoryBudget | undefined },
): Promise<readonly PeekedMessage[]> {
  const nowMicros = clock.nowMicros();
  const entries = await cursor.peek({ nowMicros, count });
  const ids = entries.map(({ key }) => keys.read(key).id);
  const texts = await store.getMany(ids.map((id) => keys.text(id)));
  const bytes = textBytes(texts);
  memory?.hold(bytes);
  await memory?.enter(bytes);
  return entries.flatMap(({ value }, index): PeekedMessage[] => {
    const id = ids[index];
    const text = texts[index];
    if (id === undefined || text === undefined) return [];
    return [
      {
        id: formatMessageId(id),
        ...decodeMessageState(value),
        text: decodeMessageText(text.value),
      },
    ];
  });
}

/**
 * Changes when a dequeued message is visible again, and its text if one is given. Invalidates its
 * receipt and returns a new one. Throws `MessageNotFound` when the message is gone or the receipt
 * is not the current one.
 */
export async function updateMessage(
  { store, clock }: MessageContext,
  keys: MessageKeys,
  change: MessageChange,
): Promise<Renewal> {
  const nowMicros = clock.nowMicros();
  const nextVisibleMicros = nowMicros + change.visibilitySeconds * 1_000_000;
  const text = change.text === undefined ? undefined : encodeMessageText(change.text);
  const receipt = receiptOf(change);
  const { key, value, version } = await heldState(store, keys, receipt, nowMicros);
  const expiresMicros = expiryOfState(value);
  if (nextVisibleMicros > expiresMicros) throw visibleTooLate(change.visibilitySeconds);
  const { id } = receipt;
  const moved = nextVisibleMicros !== receipt.nextVisibleMicros;
  // A message has one state, so its next place is free.
  const puts: Put[] = [
    { key: moved ? keys.visibility(nextVisibleMicros, id) : key, value, isNew: moved },
    { key: keys.expiry(expiresMicros, id), value: encodeMoment(nextVisibleMicros) },
  ];
  if (text !== undefined) puts.push({ key: keys.text(id), value: text });
  const deletes = moved ? [key] : [];
  const result = await store.commit({ checks: [{ key, version }], puts, deletes });
  if (!result.ok) throw new StorageError('MessageNotFound');
  clock.atLeast(result.version);
  const popReceipt = encodePopReceipt({ id, nextVisibleMicros, version: result.version });
  return { popReceipt, nextVisibleMicros };
}

/** Deletes a dequeued message. Throws as `updateMessage` does. */
export async function deleteMessage(
  { store, clock }: MessageContext,
  keys: MessageKeys,
  message: HeldMessage,
): Promise<void> {
  const receipt = receiptOf(message);
  const { key, value, version } = await heldState(store, keys, receipt, clock.nowMicros());
  const { id } = receipt;
  const result = await store.commit({
    checks: [{ key, version }],
    puts: [],
    deletes: [key, keys.expiry(expiryOfState(value), id), keys.text(id)],
    adds: [{ key: keys.count, delta: -1 }],
  });
  if (!result.ok) throw new StorageError('MessageNotFound');
}

/** The decoded receipt of a request, checked to belong to its message. */
function receiptOf({ id, popReceipt }: HeldMessage): PopReceipt {
  const receipt = decodePopReceipt(popReceipt);
  if (receipt === undefined) {
    throw invalidQueryParameter('popreceipt', popReceipt, 'Invalid pop receipt format.');
  }
  const idBytes = parseMessageId(id);
  if (idBytes === undefined || !isReceiptOf(receipt, idBytes)) {
    throw new StorageError('MessageNotFound');
  }
  return receipt;
}

async function heldState(
  store: Store,
  keys: MessageKeys,
  { id, nextVisibleMicros, version }: PopReceipt,
  nowMicros: number,
): Promise<Entry> {
  const entry = await store.get(keys.visibility(nextVisibleMicros, id));
  const isHeld = entry?.version === version && expiryOfState(entry.value) > nowMicros;
  if (!isHeld) throw new StorageError('MessageNotFound');
  return entry;
}

function visibleTooLate(seconds: number): StorageError {
  return invalidQueryParameter(
    'visibilitytimeout',
    String(seconds),
    'The message would become visible only when it has expired: visibilitytimeout must be less than the time it has left.',
  );
}
