import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { Entry, Store } from '../../kv/store.js';
import { decodeTuple, encodeTuple, prefixRange } from '../../kv/tuple.js';
import { droppedContainerKey, deletedContainersPrefix, readDeletedKey } from './keys.js';
import { SweepCursor } from './sweep-cursor.js';
import { accountsOf, entriesOf } from './walk.js';

/** When something was soft-deleted, and when it is purged. Microseconds since 1970. */
export interface SoftDeletion {
  readonly micros: number;
  readonly purgedMicros: number;
}

/** A soft-deleted container. */
export interface DeletedContainer<R> {
  /** The former record, without what ends with a deletion. */
  readonly record: R;
  readonly deleted: SoftDeletion;
}

/** The value of a soft-deleted container. `record`: as encoded in the directory. */
export function encodeDeleted({ micros, purgedMicros }: SoftDeletion, record: Bytes): Bytes {
  return encodeTuple([micros, purgedMicros, record]);
}

export function decodeDeleted(value: Bytes): SoftDeletion & { readonly record: Bytes } {
  const [micros, purgedMicros, record] = decodeTuple(value);
  invariant(
    typeof micros === 'number' && typeof purgedMicros === 'number' && typeof record === 'object',
    'a deleted container is malformed',
  );
  return { micros, purgedMicros, record };
}

interface DueContainer {
  readonly account: string;
  readonly id: number;
  readonly entry: Entry;
}

/**
 * Drops the soft-deleted containers of a service, in all accounts, whose retention is over. Their
 * space is freed like that of other dropped containers.
 */
export function deletedContainersSweep(
  store: Store,
  clock: Clock,
  service: string,
): SweepCursor<DueContainer> {
  return new SweepCursor({
    all: () => deletedContainers(store, service),
    nameOf: ({ entry }) => nameOfBytes(entry.key),
    async clear({ account, id, entry: { key, value, version } }) {
      const { purgedMicros, record } = decodeDeleted(value);
      if (purgedMicros > clock.nowMicros()) return { deleted: 0, more: false };
      const { ok } = await store.commit({
        checks: [{ key, version }],
        puts: [{ key: droppedContainerKey(service, account, id), value: record }],
        deletes: [key],
      });
      return { deleted: ok ? 1 : 0, more: false };
    },
  });
}

async function* deletedContainers(store: Store, service: string): AsyncGenerator<DueContainer> {
  for await (const account of accountsOf(store, service)) {
    const prefix = deletedContainersPrefix(service, account);
    for await (const entry of entriesOf(store, prefixRange(prefix))) {
      yield { account, id: readDeletedKey(entry.key, prefix).id, entry };
    }
  }
}
