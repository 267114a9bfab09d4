import type { KeyedGate } from '../../base/async/keyed-gate.js';
import type { SharedRuns } from '../../base/async/shared-runs.js';
import type { ForwardClock } from '../../base/forward-clock.js';
import type { Bytes } from '../../base/bytes.js';
import type { Randomness } from '../../base/randomness.js';
import type { ContentStore } from '../../content/content-store.js';
import type { Store } from '../../kv/store.js';
import type { DeleteRetention } from '../../model/resources/service-properties.js';
import type { Containers } from '../containers/containers.js';
import type { ContainerDraft, ContainerRecord } from './container-record.js';
import type { BlobReaders } from './blob-readers.js';

/** The dependencies of the operations of the blob service. */
export interface BlobContext {
  readonly store: Store;
  readonly content: ContentStore;
  /** Never steps back, so that leases do not last longer when the machine's clock is set back. */
  readonly clock: ForwardClock;
  readonly randomness: Randomness;
  readonly containers: Containers<ContainerRecord, ContainerDraft>;
  readonly readers: BlobReaders;
  /** Makes changes that read and then write a blob take turns, by the name of its key. */
  readonly turns: KeyedGate;
  /** How long an account keeps deleted blobs. */
  readonly retention: (account: string) => Promise<DeleteRetention | undefined>;
  /** Whether an account keeps versions of its blobs. */
  readonly versioning: (account: string) => boolean;
  /** Whether blobs of an account can have policies and legal holds. */
  readonly immutability: (account: string) => boolean;
  /** Marks containers that have protected blobs (`protecting`). */
  readonly protections: SharedRuns;
  /** Called when there is something to free. */
  readonly onGarbage: () => void;
}

const idBytes = 12;

/** An id of a content, a piece or a stage. Random, so it is never used again. */
export function newId({ randomness }: Pick<BlobContext, 'randomness'>): Bytes {
  return randomness.bytes(idBytes);
}
