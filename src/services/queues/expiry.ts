import type { Bytes } from '../../base/bytes.js';
import { nextTurn } from '../../base/async/turns.js';
import { decodeCounter } from '../../kv/counter.js';
import { keyAfter } from '../../kv/tuple.js';
import type { Entry, KeyRange, Store } from '../../kv/store.js';
import { decodeMoment, type MessageKeys } from './message-keys.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';

/** The messages that one commit deletes, so that no commit takes long. */
const commitMessagesMax = 50;
/** A message is a text, a state and an expiry entry. */
const messageEntries = 3;
/** The entries counted before yielding to others. */
const countedMax = 10_000;

/**
 * One bounded step of deleting expired messages of a queue, at least one if there is any. A commit
 * only deletes messages whose entries are unchanged, so steps may run in several processes at once.
 * The commits are made at once, so that an engine with group commit writes them in one transaction.
 */
export async function deleteExpired(
  store: Store,
  keys: MessageKeys,
  nowMicros: number,
  entriesMax: number,
): Promise<Reclaimed> {
  const limit = Math.max(1, Math.floor(entriesMax / messageEntries));
  const page = await store.range(keys.expiredAt(nowMicros), { limit, bytesMax: Infinity });
  const commits: Promise<number>[] = [];
  for (let start = 0; start < page.entries.length; start += commitMessagesMax) {
    const expiries = page.entries.slice(start, start + commitMessagesMax);
    commits.push(deleteEntries(store, keys, expiries));
  }
  let messages = 0;
  // A step ends when all of its commits have.
  for (const commit of await Promise.allSettled(commits)) {
    if (commit.status === 'rejected') throw commit.reason;
    messages += commit.value;
  }
  const more = page.more || messages < page.entries.length;
  return { deleted: messageEntries * messages, more };
}

/**
 * Deletes messages, and returns how many. Checks each expiry entry, because every change of a
 * message rewrites it.
 */
async function deleteEntries(
  store: Store,
  keys: MessageKeys,
  expiries: readonly Entry[],
): Promise<number> {
  const deletes = expiries.flatMap(({ key, value }): Bytes[] => {
    const { id } = keys.read(key);
    return [key, keys.visibility(decodeMoment(value), id), keys.text(id)];
  });
  const result = await store.commit({
    checks: expiries.map(({ key, version }) => ({ key, version })),
    puts: [],
    deletes,
    adds: [{ key: keys.count, delta: -expiries.length }],
  });
  return result.ok ? expiries.length : 0;
}

/** The number of stored messages, expired ones included. */
export async function countStored(store: Store, keys: MessageKeys): Promise<number> {
  const entry = await store.get(keys.count);
  return entry === undefined ? 0 : decodeCounter(entry.value);
}

/** The number of expired messages that are still stored. */
export async function countExpired(
  store: Store,
  keys: MessageKeys,
  nowMicros: number,
): Promise<number> {
  let range: KeyRange | undefined = keys.expiredAt(nowMicros);
  let total = 0;
  while (range !== undefined) {
    const counted: Counted = await countPage(store, range);
    total += counted.count;
    range = counted.rest;
    if (range !== undefined) await nextTurn();
  }
  return total;
}

interface Counted {
  readonly count: number;
  readonly rest: KeyRange | undefined;
}

async function countPage(store: Store, range: KeyRange): Promise<Counted> {
  let count = 0;
  let last: Bytes | undefined;
  await store.range(range, {
    limit: 1,
    bytesMax: 0,
    filter({ key }) {
      if (count === countedMax) return 'stop';
      count += 1;
      if (count === countedMax) last = Buffer.from(key);
      return 'skip';
    },
  });
  const rest = last === undefined ? undefined : { ...range, start: keyAfter(last) };
  return { count, rest };
}
