import { invariant } from '../../base/invariant.js';
import type { StoreSnapshot } from '../../kv/snapshots.js';

/** A snapshot of the base; the note of the journal is among its entries. */
export class JournaledSnapshot implements StoreSnapshot {
  readonly inner: StoreSnapshot;
  readonly entries: number;

  constructor(inner: StoreSnapshot) {
    this.inner = inner;
    this.entries = inner.entries - 1;
  }
}

/** The snapshot of the base in a snapshot of this store. */
export function innerOf(snapshot: StoreSnapshot): StoreSnapshot {
  invariant(snapshot instanceof JournaledSnapshot, 'a snapshot of this engine');
  return snapshot.inner;
}
