import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { CommitBatch, Entry, Store } from '../../kv/store.js';
import { decodeTuple, encodeTuple, prefixRange } from '../../kv/tuple.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { reservedNameKey, reservedNamesPrefix } from './keys.js';
import { SweepCursor } from './sweep-cursor.js';
import { accountsOf, entriesOf } from './walk.js';

/** How long a name stays reserved after its container was dropped. */
export interface NameReservation {
  readonly clock: Clock;
  readonly micros: number;
  /** The error code for a request that wants the name meanwhile. */
  readonly refusal: ErrorCode;
}

/** The longest time, in milliseconds, that the name of a deleted container can stay reserved. */
export const deleteDelayMsMax = 10 * 60 * 1000;

/** The reservation for a delay in milliseconds; undefined for none. */
export function reservationFor(
  delayMs: number,
  refusal: ErrorCode,
  clock: Clock,
): NameReservation | undefined {
  return delayMs === 0 ? undefined : { clock, micros: delayMs * 1000, refusal };
}

/**
 * Reservations of names of dropped containers. They are stored, so they hold for all processes and
 * across restarts. The end of a reservation is fixed when the container is dropped.
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

  /** The reservation that the commit which drops a container adds. */
  held(account: string, identity: string): { readonly key: Bytes; readonly value: Bytes } {
    const { clock, micros } = this.#reservation;
    const key = reservedNameKey(this.#service, account, identity);
    return { key, value: encodeTuple([clock.nowMicros() + micros]) };
  }

  /**
   * The check and delete for the commit that takes a name. Throws the refusal while the name is
   * reserved.
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

/** Deletes the expired name reservations of a service, all accounts. */
export function nameReservationSweep(
  store: Store,
  clock: Clock,
  service: string,
): SweepCursor<Entry> {
  return new SweepCursor({
    all: () => reservedNames(store, service),
    nameOf: ({ key }) => nameOfBytes(key),
    async clear(entry) {
      if (clock.nowMicros() < freeAtMicros(entry)) return { deleted: 0, more: false };
      const { key, version } = entry;
      const { ok } = await store.commit({
        checks: [{ key, version }],
        puts: [],
        deletes: [key],
      });
      return { deleted: ok ? 1 : 0, more: false };
    },
  });
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
