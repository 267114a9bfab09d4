import { invariant } from '../../base/invariant.js';
import type { StoreSnapshot } from '../../kv/snapshots.js';

/** A snapshot of the base, which counts its note among the entries. */
export class JournaledSnapshot implements StoreSnapshot {
  readonly inner: StoreSnapshot;
  readonly entries: number;

  constructor(inner: StoreSnapshot) {
    this.inner = inner;
    this.entries = inner.entries - 1;
  }
}

/** The snapshot that the base has taken. */
export function innerOf(snapshot: StoreSnapshot): StoreSnapshot {
  invariant(snapshot instanceof JournaledSnapshot, 'a snapshot of this engine');
  return snapshot.inner;
}
