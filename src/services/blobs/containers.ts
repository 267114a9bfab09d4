import type { MemoryBudget } from '../../base/async/memory-budget.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import type { LeaseAction } from '../../model/blobs/lease.js';
import type { PublicAccess } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { Containers } from '../containers/containers.js';
import { checkMetadata } from '../containers/metadata.js';
import { checkWriteConditions } from './conditions.js';
import { containerProperties, listContainers, listWithDeleted } from './container-list.js';
import { checkContainerName, isOfService, websiteContainer } from './container-name.js';
import type { ContainerDraft, ContainerRecord } from './container-record.js';
import { changeLease, checkLease, type LeaseChange, type LeaseUse } from './lease.js';
import { idOfDeletion } from './deletion-id.js';
import { softDeletionFor } from './retention.js';
import type {
  Access,
  ContainerAcl,
  ContainerAddress,
  ContainerList,
  ContainerProperties,
  ContainerQuery,
  DeletedContainerAddress,
  LeaseOutcome,
  NewContainer,
  Written,
} from './types.js';

export interface BlobContainersOptions {
  readonly containers: Containers<ContainerRecord, ContainerDraft>;
  /** Never steps back, so that leases do not last longer when the machine's clock is set back. */
  readonly clock: Pick<Clock, 'nowMicros'>;
  readonly randomness: Pick<Randomness, 'uuid'>;
  /** For how many days deleted containers are kept, 1 to 365. Undefined: not at all. */
  readonly retentionDays: () => number | undefined;
  /** Whether containers of an account may be public. */
  readonly permitsPublicAccess: (account: string) => boolean;
  /** Whether containers of an account have immutable storage. */
  readonly immutability: (account: string) => boolean;
  /** Whether a container has blobs, snapshots or versions that its deletion would delete too. */
  readonly hasBlobs: (account: string, record: ContainerRecord) => Promise<boolean>;
  /** Called when a container was dropped. */
  readonly onGarbage: () => void;
}

/**
 * The containers of the blob service (blob-service §7). Every change is one commit. A request is
 * checked in this order: the container exists, its lease, the conditions.
 *
 * Only deletion needs the id of a lease; every other request is refused when it brings a wrong one
 * (blob-service §10.4).
 */
export class BlobContainers {
  readonly #options: BlobContainersOptions;
  readonly #containers: Containers<ContainerRecord, ContainerDraft>;

  constructor(options: BlobContainersOptions) {
    this.#options = options;
    this.#containers = options.containers;
  }

  /** Throws `ContainerAlreadyExists`, whatever the metadata are. */
  async create(
    { account, container }: ContainerAddress,
    { metadata, publicAccess }: NewContainer,
  ): Promise<Written> {
    checkContainerName(container);
    refuseOfService(container);
    checkMetadata(metadata);
    if (publicAccess !== 'none') this.checkPublicAccess(account);
    const { created, record } = await this.#containers.create(account, container, (id) => ({
      id,
      name: container,
      metadata,
      publicAccess,
      identifiers: [],
      lease: undefined,
      isImmutable: false,
      modifiedMicros: 'commit',
    }));
    if (!created) throw new StorageError('ContainerAlreadyExists');
    return { modifiedMicros: record.modifiedMicros };
  }

  /** Makes the container of the static website of an account, if it is absent. */
  async createWebsite(account: string): Promise<void> {
    try {
      const made = { metadata: [], publicAccess: 'none' } as const;
      await this.create({ account, container: websiteContainer }, made);
    } catch (error) {
      const isThere = error instanceof StorageError && error.code === 'ContainerAlreadyExists';
      if (!isThere) throw error;
    }
  }

  /**
   * Deletes a container in one commit, whatever it holds. Its name can be reused at once, or after
   * the configured delay. Where containers are soft-deleted it is kept, without its lease. Throws
   * `ContainerImmutableStorageWithVersioningEnabled` for one with immutable storage that is not
   * empty (blob-service §15.5).
   */
  async delete({ account, container }: ContainerAddress, access: Access): Promise<void> {
    refuseOfService(container);
    const { clock, onGarbage } = this.#options;
    const retentionDays = this.#options.retentionDays();
    const check = async (record: ContainerRecord) => {
      this.#check(record, access, 'write');
      await this.#checkDeletable(account, record);
    };
    const isDeleted =
      retentionDays === undefined
        ? await this.#containers.drop(account, container, check)
        : await this.#containers.keep(
            account,
            container,
            softDeletionFor(retentionDays, clock.nowMicros()),
            async (record) => {
              await check(record);
              return { ...record, lease: undefined };
            },
          );
    if (!isDeleted) throw notFound(container);
    onGarbage();
  }

  async #checkDeletable(account: string, record: ContainerRecord): Promise<void> {
    if (!record.isImmutable && !this.#options.immutability(account)) return;
    if (!(await this.#options.hasBlobs(account, record))) return;
    throw new StorageError('ContainerImmutableStorageWithVersioningEnabled');
  }

  /**
   * Restore Container (blob-service §7): restores a soft-deleted container, with its blobs and its
   * former ETag. Throws `ContainerNotFound`, and `ContainerAlreadyExists` when another one has the
   * name.
   */
  async restore({ account, container, version }: DeletedContainerAddress): Promise<void> {
    checkContainerName(container);
    const id = idOfDeletion(version);
    if (id === undefined) throw notFound(container);
    const outcome = await this.#containers.restore(account, { identity: container, id });
    if (outcome === 'not found') throw notFound(container);
    if (outcome === 'name taken') throw new StorageError('ContainerAlreadyExists');
  }

  /** One page of containers in order of their names. */
  async list(
    account: string,
    query: ContainerQuery,
    memory?: MemoryBudget,
  ): Promise<ContainerList> {
    const shown = this.#shown(account);
    const list = query.includesDeleted === true ? listWithDeleted : listContainers;
    return list({ containers: this.#containers, account, memory, ...shown }, query);
  }

  async exists({ account, container }: ContainerAddress): Promise<boolean> {
    return (await this.#containers.find(account, container)) !== undefined;
  }

  async get(address: ContainerAddress, access: Access): Promise<ContainerProperties> {
    const record = await this.#allowed(address, access);
    return containerProperties(record, this.#shown(address.account));
  }

  #shown(account: string) {
    const { clock, immutability } = this.#options;
    return { nowMicros: clock.nowMicros(), hasImmutableStorage: immutability(account) };
  }

  /** Replaces all metadata. */
  async setMetadata(
    address: ContainerAddress,
    metadata: Metadata,
    access: Access,
  ): Promise<Written> {
    checkMetadata(metadata);
    return this.#change(address, (record) => {
      this.#check(record, access, 'read');
      return { ...record, metadata, modifiedMicros: 'commit' };
    });
  }

  async getAcl(address: ContainerAddress, access: Access): Promise<ContainerAcl & Written> {
    const { publicAccess, identifiers, modifiedMicros } = await this.#allowed(address, access);
    return { publicAccess, identifiers, modifiedMicros };
  }

  /** Replaces both the public access and all policies. */
  async setAcl(
    address: ContainerAddress,
    { publicAccess, identifiers }: ContainerAcl,
    access: Access,
  ): Promise<Written> {
    if (publicAccess !== 'none') this.checkPublicAccess(address.account);
    return this.#change(address, (record) => {
      this.#check(record, access, 'read');
      return { ...record, publicAccess, identifiers, modifiedMicros: 'commit' };
    });
  }

  /** Changes the lease (blob-service §10.3). ETag and Last-Modified stay. */
  async lease(
    address: ContainerAddress,
    action: LeaseAction,
    { conditions = {} }: Pick<Access, 'conditions'>,
  ): Promise<LeaseOutcome> {
    const { clock, randomness } = this.#options;
    const newId = () => randomness.uuid();
    let change: LeaseChange | undefined;
    const { modifiedMicros } = await this.#change(address, (record) => {
      checkWriteConditions(conditions, record, 'change');
      change = changeLease(record.lease, action, { nowMicros: clock.nowMicros(), newId });
      return { ...record, lease: change.lease };
    });
    const { id, remainingSeconds } = change ?? {};
    return {
      modifiedMicros,
      ...(id === undefined ? {} : { leaseId: id }),
      ...(remainingSeconds === undefined ? {} : { remainingSeconds }),
    };
  }

  /** Whether containers of the account may be public. */
  permitsPublicAccess(account: string): boolean {
    return this.#options.permitsPublicAccess(account);
  }

  /** Throws `PublicAccessNotPermitted` where containers of the account may not be public. */
  checkPublicAccess(account: string): void {
    if (!this.permitsPublicAccess(account)) throw new StorageError('PublicAccessNotPermitted');
  }

  /**
   * What requests without credentials may read: nothing when there is no container, or when
   * containers of the account must not be public (blob-service §4.6).
   */
  async publicAccess({ account, container }: ContainerAddress): Promise<PublicAccess> {
    if (!this.permitsPublicAccess(account)) return 'none';
    return (await this.#containers.find(account, container))?.publicAccess ?? 'none';
  }

  /** The stored policies that signatures may use; none when there is no container. */
  async storedPolicies({
    account,
    container,
  }: ContainerAddress): Promise<readonly SignedIdentifier[]> {
    return (await this.#containers.find(account, container))?.identifiers ?? [];
  }

  async #allowed(
    { account, container }: ContainerAddress,
    access: Access,
  ): Promise<ContainerRecord> {
    const record = await this.#containers.find(account, container);
    if (record === undefined) throw notFound(container);
    this.#check(record, access, 'read');
    return record;
  }

  async #change(
    { account, container }: ContainerAddress,
    change: (record: ContainerRecord) => ContainerDraft,
  ): Promise<Written> {
    const changed = await this.#containers.update(account, container, change);
    if (changed === undefined) throw notFound(container);
    return { modifiedMicros: changed.modifiedMicros };
  }

  #check(record: ContainerRecord, { leaseId: id, conditions = {} }: Access, use: LeaseUse): void {
    const nowMicros = this.#options.clock.nowMicros();
    checkLease(record.lease, { id, use }, { holder: 'container', nowMicros });
    checkWriteConditions(conditions, record, 'change');
  }
}

/** The error for a missing container; for an illegal name, the error of the broken rule instead. */
export function notFound(name: string): StorageError {
  checkContainerName(name);
  return new StorageError('ContainerNotFound');
}

function refuseOfService(name: string): void {
  if (!isOfService(name)) return;
  throw new StorageError('AuthorizationFailure', {
    details: [['AuthenticationErrorDetail', `The service alone creates and deletes ${name}.`]],
  });
}
