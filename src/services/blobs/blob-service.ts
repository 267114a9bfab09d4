import { KeyedGate } from '../../base/async/keyed-gate.js';
import { SharedRuns } from '../../base/async/shared-runs.js';
import type { MemoryBudget } from '../../base/async/memory-budget.js';
import type { ForwardClock } from '../../base/forward-clock.js';
import type { Timers } from '../../base/async/timers.js';
import type { Randomness } from '../../base/randomness.js';
import type { ContentStore } from '../../content/content-store.js';
import type { Store } from '../../kv/store.js';
import type { BlockReference } from '../../model/blobs/block-list.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { Immutability, ImmutabilityPolicy } from '../../model/blobs/immutability.js';
import type { LeaseAction } from '../../model/blobs/lease.js';
import type { AccessTier, ContentHeaders } from '../../model/blobs/properties.js';
import type { TagQuery } from '../../model/blobs/tag-expression.js';
import type { Tags } from '../../model/blobs/tags.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { DeleteRetention } from '../../model/resources/service-properties.js';
import { Containers } from '../containers/containers.js';
import { deletedContainersSweep } from '../containers/soft-deleted-containers.js';
import { nameReservationSweep, reservationFor } from '../containers/name-reservations.js';
import { droppedContainersSweep } from '../containers/reclaim.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import { SweepTurns } from '../containers/sweep-turns.js';
import type { BlobContext } from './blob-context.js';
import {
  appendBlock,
  putAppendBlob,
  sealAppendBlob,
  type AppendAccess,
  type Appended,
} from './append-blobs.js';
import { BlobReaders } from './blob-readers.js';
import { putBlock, putBlockBlob } from './block-blobs.js';
import { getBlockList, putBlockList, type BlockListReading } from './block-lists.js';
import { containerKind } from './container-record.js';
import { isOfService } from './container-name.js';
import { BlobContainers, type BlobContainersOptions } from './containers.js';
import { copyBlob, type CopiedBlob, type CopyRequest } from './copies.js';
import { deleteBlob, type Deletion } from './deletion.js';
import { droppedBlobs } from './dropped-blobs.js';
import { dueSweep } from './due-sweep.js';
import {
  abortCopy,
  beginCopy,
  copyForeign,
  type ForeignCopy,
  type RunUnderReadLock,
} from './foreign-copies.js';
import { garbageSweep } from './garbage-sweep.js';
import { findInAccount, findInContainer } from './find.js';
import { deleteImmutabilityPolicy, setImmutabilityPolicy, setLegalHold } from './immutability.js';
import { contentPrefix, hasBlobs, immutableContainer, protecting } from './immutable-storage.js';
import { copyIncrementally, type IncrementalCopyRequest } from './incremental-copies.js';
import { listBlobs } from './listing.js';
import { undeleteBlob } from './undeletion.js';
import { getTags, setTags } from './tags.js';
import { setTier, type TierOutcome } from './tiers.js';
import { leaseBlob, setHeaders, setMetadata } from './properties.js';
import {
  changePageBlob,
  clearPages,
  putPageBlob,
  putPages,
  type NewPageBlob,
  type PageAccess,
  type PageBlobChange,
  type WrittenPages,
} from './page-blobs.js';
import { getPageRanges, type PageList, type PageListQuery } from './page-lists.js';
import { PendingCopies } from './pending-copies.js';
import { getBlob, getProperties } from './reads.js';
import type { Bounds } from './byte-run.js';
import { snapshotBlob, type TakenSnapshot } from './snapshots.js';
import { referencedExtents } from './referenced-extents.js';
import type {
  Access,
  BlobAddress,
  BlobList,
  BlobProperties,
  BlobQuery,
  BlobReading,
  BlockListKind,
  Body,
  ContainerAddress,
  DeleteOptions,
  FindOptions,
  FoundBlobs,
  LeaseOutcome,
  NewBlock,
  NewBlockBlob,
  NewProperties,
  PutBlobResult,
  ReadRange,
  SnapshotAddress,
  Written,
} from './types.js';

/** Suspects of the content store that one step looks at, at most. */
const suspectsPerStep = 64;

export interface BlobServiceOptions {
  readonly store: Store;
  /** Where the bytes are; of this store alone. */
  readonly content: ContentStore;
  /** Never steps back, so that leases do not last longer when the machine's clock is set back. */
  readonly clock: ForwardClock;
  readonly randomness: Randomness;
  readonly timers: Timers;
  /** Called when `reclaim` may have something to free. */
  readonly onGarbage?: () => void;
  /** Makes the containers. Default: `BlobContainers`. */
  readonly containersOver?: (options: BlobContainersOptions) => BlobContainers;
  /** How long an account keeps what is deleted; asked for each deletion. Absent: not at all. */
  readonly retention?: (account: string) => Promise<DeleteRetention | undefined>;
  /** For how many days deleted containers are kept now, 1 to 365. Absent: not at all. */
  readonly containerRetentionDays?: () => number | undefined;
  /**
   * How long, in milliseconds, the name of a deleted container cannot be used again: creating
   * throws `ContainerBeingDeleted`. Default 0.
   */
  readonly containerDeleteDelayMs?: number;
  /** Whether an account keeps versions of its blobs. Absent: none does. */
  readonly versioning?: (account: string) => boolean;
  /** Whether blobs of an account can have policies and legal holds. Absent: those of none can. */
  readonly immutability?: (account: string) => boolean;
  /** Whether containers of an account may be public. Absent: those of all may. */
  readonly permitsPublicAccess?: (account: string) => boolean;
  /** Default: the data are never replaced. */
  readonly underReadLock?: RunUnderReadLock;
}

/**
 * Azure Blob storage over any store and content store: no HTTP, no XML. Every method throws
 * `StorageError` for a request that fails, which has changed nothing then. A change is durable when
 * it resolves, and every read that begins afterwards sees it. Several processes may share one store
 * and its content.
 *
 * Every change of a blob is one commit. It checks, in this order: that container and blob exist and
 * are of the right kind, the lease, the conditions, then what the operation itself demands
 * (blob-service §9.5).
 */
export class BlobService {
  readonly containers: BlobContainers;
  readonly #context: BlobContext;
  /** A context without versions and retention, for blobs of the service itself, such as logs. */
  readonly #withoutRetention: BlobContext;
  readonly #sweeps: SweepTurns;
  readonly #copies: PendingCopies;

  constructor(options: BlobServiceOptions) {
    const { store, content, clock, randomness, timers, onGarbage = () => undefined } = options;
    const { retention = () => Promise.resolve(undefined) } = options;
    const { containerDeleteDelayMs: delayMs = 0 } = options;
    const reservation = reservationFor(delayMs, 'ContainerBeingDeleted', clock);
    const containers = new Containers(store, containerKind, reservation);
    const readers = new BlobReaders({ store, clock, timers });
    const { containerRetentionDays: retentionDays = () => undefined } = options;
    const { permitsPublicAccess = () => true } = options;
    const { immutability = () => false } = options;
    const kept = { retentionDays, permitsPublicAccess, immutability };
    const ofContainers: BlobContainersOptions = {
      containers,
      clock,
      randomness,
      onGarbage,
      ...kept,
      hasBlobs: (account, record) => hasBlobs({ store, clock }, contentPrefix(account, record)),
    };
    this.containers = options.containersOver?.(ofContainers) ?? new BlobContainers(ofContainers);
    const turns = new KeyedGate();
    const { versioning = () => false } = options;
    const protections = new SharedRuns();
    const keeping = { retention, versioning, immutability, protections };
    const services = { containers, readers, turns, onGarbage, ...keeping };
    this.#context = { store, content, clock, randomness, ...services };
    const nothing = { retention: () => Promise.resolve(undefined), versioning: () => false };
    this.#withoutRetention = { ...this.#context, ...nothing };
    const { underReadLock = (work) => work() } = options;
    this.#copies = new PendingCopies(this.#context, { timers, underReadLock });
    const { service } = containerKind;
    this.#sweeps = new SweepTurns([
      garbageSweep(this.#context),
      droppedContainersSweep(store, clock, service, droppedBlobs(this.#context)),
      deletedContainersSweep(store, clock, service),
      nameReservationSweep(store, clock, service),
      dueSweep(this.#context),
      { step: () => this.#sweepOrphans() },
    ]);
  }

  /** `md5` of the result is that of the body. */
  putBlockBlob(
    address: BlobAddress,
    blob: NewBlockBlob,
    request: Access & { readonly body: Body },
  ): Promise<PutBlobResult> {
    return this.#protecting(address, blob, () =>
      putBlockBlob(this.#context, address, blob, request),
    );
  }

  putBlock(
    address: BlobAddress,
    block: NewBlock,
    request: Pick<Access, 'leaseId'> & { readonly body: Body },
  ): Promise<void> {
    return putBlock(this.#context, address, block, request);
  }

  putBlockList(
    address: BlobAddress,
    list: NewProperties & { readonly blocks: readonly BlockReference[] },
    access: Access = {},
  ): Promise<Written> {
    return this.#protecting(address, list, () =>
      putBlockList(this.#context, address, list, access),
    );
  }

  getBlockList(
    address: SnapshotAddress,
    kind: BlockListKind,
    access: Access = {},
  ): Promise<BlockListReading> {
    return getBlockList(this.#context, address, kind, access);
  }

  getBlob(
    address: SnapshotAddress,
    request: Access & { readonly range?: ReadRange | undefined } = {},
  ): Promise<BlobReading> {
    return getBlob(this.#context, address, request);
  }

  getProperties(address: SnapshotAddress, access: Access = {}): Promise<BlobProperties> {
    return getProperties(this.#context, address, access);
  }

  setHeaders(
    address: BlobAddress,
    headers: ContentHeaders | undefined,
    access: Access = {},
  ): Promise<Written> {
    return setHeaders(this.#context, address, headers, access);
  }

  setMetadata(address: BlobAddress, metadata: Metadata, access: Access = {}): Promise<Written> {
    return setMetadata(this.#context, address, metadata, access);
  }

  putAppendBlob(
    address: BlobAddress,
    properties: NewProperties,
    access: Access = {},
  ): Promise<Written> {
    return this.#protecting(address, properties, () =>
      putAppendBlob(this.#context, address, properties, access),
    );
  }

  appendBlock(
    address: BlobAddress,
    request: AppendAccess & { readonly body: Body },
  ): Promise<Appended> {
    return appendBlock(this.#context, address, request);
  }

  sealAppendBlob(address: BlobAddress, access: AppendAccess = {}): Promise<Written> {
    return sealAppendBlob(this.#context, address, access);
  }

  putPageBlob(address: BlobAddress, blob: NewPageBlob, access: Access = {}): Promise<WrittenPages> {
    return this.#protecting(address, blob, () => putPageBlob(this.#context, address, blob, access));
  }

  putPages(
    address: BlobAddress,
    bounds: Bounds,
    request: PageAccess & { readonly body: Body },
  ): Promise<WrittenPages> {
    return putPages(this.#context, address, bounds, request);
  }

  clearPages(address: BlobAddress, bounds: Bounds, access: PageAccess = {}): Promise<WrittenPages> {
    return clearPages(this.#context, address, bounds, access);
  }

  changePageBlob(
    address: BlobAddress,
    change: PageBlobChange,
    access: Access = {},
  ): Promise<WrittenPages> {
    return changePageBlob(this.#context, address, change, access);
  }

  getPageRanges(
    address: SnapshotAddress,
    query: PageListQuery = {},
    access: Access = {},
  ): Promise<PageList> {
    return getPageRanges(this.#context, address, query, access);
  }

  snapshotBlob(
    address: BlobAddress,
    options: { readonly metadata?: Metadata | undefined } = {},
    access: Access = {},
  ): Promise<TakenSnapshot> {
    return snapshotBlob(this.#context, address, options, access);
  }

  copyBlob(target: BlobAddress, request: CopyRequest, access: Access = {}): Promise<CopiedBlob> {
    return this.#protecting(target, request, () =>
      copyBlob(this.#context, target, request, access),
    );
  }

  copyIncrementally(
    target: BlobAddress,
    request: IncrementalCopyRequest,
    access: Access = {},
  ): Promise<CopiedBlob> {
    return copyIncrementally(this.#context, target, request, access);
  }

  /** Copies a block blob of another server; done when it resolves. */
  copyForeign(address: BlobAddress, copy: ForeignCopy, access: Access = {}): Promise<CopiedBlob> {
    return this.#protecting(address, copy.request, () =>
      copyForeign(this.#context, address, copy, access),
    );
  }

  /**
   * Begins to copy a blob of another server. Throws `ServerBusy` when too many copies are pending.
   */
  async beginCopy(
    address: BlobAddress,
    copy: ForeignCopy,
    access: Access = {},
  ): Promise<CopiedBlob> {
    this.#copies.checkRoom();
    const { keys, ...begun } = await this.#protecting(address, copy.request, () =>
      beginCopy(this.#context, address, copy, access),
    );
    this.#copies.begin({ keys, id: begun.copyId }, copy.source);
    return begun;
  }

  /** `id`: of the copy. Throws `NoPendingCopyOperation`, `CopyIdMismatch`. */
  async abortCopy(
    address: BlobAddress,
    options: { readonly id: string } & Pick<Access, 'leaseId'>,
  ): Promise<void> {
    await abortCopy(this.#context, address, options);
    this.#copies.stop(options.id);
  }

  deleteBlob(address: SnapshotAddress, options: DeleteOptions = {}): Promise<Deletion> {
    const context = isOfService(address.container) ? this.#withoutRetention : this.#context;
    return deleteBlob(context, address, options);
  }

  undeleteBlob(address: BlobAddress): Promise<void> {
    return undeleteBlob(this.#context, address);
  }

  leaseBlob(
    address: BlobAddress,
    action: LeaseAction,
    conditions: BlobConditions = {},
  ): Promise<LeaseOutcome> {
    return leaseBlob(this.#context, address, action, conditions);
  }

  listBlobs(address: ContainerAddress, query: BlobQuery, memory?: MemoryBudget): Promise<BlobList> {
    return listBlobs(this.#context, address, query, memory);
  }

  getTags(address: SnapshotAddress, access: Access = {}): Promise<Tags> {
    return getTags(this.#context, address, access);
  }

  setTags(address: SnapshotAddress, tags: Tags, access: Access = {}): Promise<void> {
    return setTags(this.#context, address, tags, access);
  }

  findInContainer(
    address: ContainerAddress,
    query: TagQuery,
    options: FindOptions,
    memory?: MemoryBudget,
  ): Promise<FoundBlobs> {
    return findInContainer(this.#context, address, query, options, memory);
  }

  findInAccount(
    account: string,
    query: TagQuery,
    options: FindOptions,
    memory?: MemoryBudget,
  ): Promise<FoundBlobs> {
    return findInAccount(this.#context, account, query, options, memory);
  }

  setTier(address: SnapshotAddress, tier: AccessTier, access: Access = {}): Promise<TierOutcome> {
    return setTier(this.#context, address, tier, access);
  }

  /** `policy.untilSeconds`: later than now, which is up to the caller. */
  setImmutabilityPolicy(
    address: SnapshotAddress,
    policy: ImmutabilityPolicy,
    conditions: BlobConditions = {},
  ): Promise<Immutability | undefined> {
    const given = { immutability: { policy, hasLegalHold: false } };
    return this.#protecting(address, given, () =>
      setImmutabilityPolicy(this.#context, address, policy, conditions),
    );
  }

  async deleteImmutabilityPolicy(
    address: SnapshotAddress,
    conditions: BlobConditions = {},
  ): Promise<Immutability | undefined> {
    await immutableContainer(this.#context, address);
    return deleteImmutabilityPolicy(this.#context, address, conditions);
  }

  async setLegalHold(
    address: SnapshotAddress,
    hasLegalHold: boolean,
    conditions: BlobConditions = {},
  ): Promise<Immutability | undefined> {
    await immutableContainer(this.#context, address);
    const given = hasLegalHold ? { immutability: { hasLegalHold } } : {};
    return this.#protecting(address, given, () =>
      setLegalHold(this.#context, address, hasLegalHold, conditions),
    );
  }

  #protecting<T>(
    address: ContainerAddress,
    { immutability }: { readonly immutability?: Immutability | undefined },
    write: () => Promise<T>,
  ): Promise<T> {
    return protecting(this.#context, address, immutability, write);
  }

  /**
   * One bounded step of freeing space: overwritten and deleted data that are not kept, dropped
   * containers, expired uncommitted blocks, and leftovers of processes that died. Safe to stop or
   * repeat anywhere, in several processes at once.
   */
  reclaim({ entriesMax }: { readonly entriesMax: number }): Promise<Reclaimed> {
    return this.#sweeps.step(entriesMax);
  }

  /**
   * Ends the copies that this service has begun: pending ones fail. Resolves with the number of
   * those that have not ended within `limitMs`: the next sweep ends them. Idempotent.
   */
  close(limitMs: number): Promise<number> {
    return this.#copies.close(limitMs);
  }

  async #sweepOrphans(): Promise<Reclaimed> {
    const { store, content } = this.#context;
    const isReferenced = referencedExtents(store);
    const { deleted, more } = await content.sweepOrphans({
      isReferenced,
      extentsMax: suspectsPerStep,
    });
    return { deleted, more };
  }
}
