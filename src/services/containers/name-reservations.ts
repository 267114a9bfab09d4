import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { CommitBatch, Entry, Store } from '../../kv/store.js';
import { decodeTuple, encodeTuple, prefixRange } from '../../kv/tuple.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { reservedNameKey, reservedNamesPrefix } from './keys.js';
import { SweepCursor } from './sweep-cursor.js';
import { accountsOf, entriesOf } from './walk.js';

/** For how long a name stays taken after its container was dropped. */
export interface NameReservation {
  readonly clock: Clock;
  readonly micros: number;
  /** The code of the error for who wants the name meanwhile. */
  readonly refusal: ErrorCode;
}

/**
 * Names of dropped containers that nobody may use yet. They are stored, so that they stay held
 * whatever process is asked, and after a restart. When a name is free again is decided when it is
 * dropped.
 */
export class NameReservations {
  readonly #store: Store;
  readonly #service: string;
  readonly #reservation: NameReservation;

  constructor(store: Store, service: string, reservation: NameReservation) {
    this.#store = store;
    this.#service = service;
    this.#reservation = reservation;
  }

  /** What the commit that drops a container puts beside. */
  held(account: string, identity: string): { readonly key: Bytes; readonly value: Bytes } {
    const { clock, micros } = this.#reservation;
    const key = reservedNameKey(this.#service, account, identity);
    return { key, value: encodeTuple([clock.nowMicros() + micros]) };
  }

  /**
   * What the commit that takes a name has to check and delete. Throws the refusal of the hold while
   * the name is held.
   */
  async taken(account: string, identity: string): Promise<Pick<CommitBatch, 'checks' | 'deletes'>> {
    const key = reservedNameKey(this.#service, account, identity);
    const entry = await this.#store.get(key);
    if (entry === undefined) return { checks: [{ key, version: 'absent' }], deletes: [] };
    if (this.#reservation.clock.nowMicros() < freeAtMicros(entry)) {
      throw new StorageError(this.#reservation.refusal);
    }
    return { checks: [{ key, version: entry.version }], deletes: [key] };
  }
}

/** Forgets the held names of a service, all accounts, whose time is over. */
export function nameReservationSweep(
  store: Store,
  clock: Clock,
  service: string,
): SweepCursor<Entry> {
  return new SweepCursor(
    () => reservedNames(store, service),
    async (entry) => {
      if (clock.nowMicros() < freeAtMicros(entry)) return { deleted: 0, more: false };
      const { key, version } = entry;
      const { ok } = await store.commit({
        checks: [{ key, version }],
        puts: [],
        deletes: [key],
      });
      return { deleted: ok ? 1 : 0, more: false };
    },
  );
}

async function* reservedNames(store: Store, service: string): AsyncGenerator<Entry> {
  for await (const account of accountsOf(store, service)) {
    yield* entriesOf(store, prefixRange(reservedNamesPrefix(service, account)));
  }
}

function freeAtMicros({ value }: Entry): number {
  const [micros] = decodeTuple(value);
  invariant(typeof micros === 'number', 'a held name says when it is free');
  return micros;
}
