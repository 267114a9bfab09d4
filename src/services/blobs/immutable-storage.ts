import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import type { Immutability } from '../../model/blobs/immutability.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { containerPrefix } from '../containers/keys.js';
import type { BlobContext } from './blob-context.js';
import { isOfService } from './container-name.js';
import { containerKind, type ContainerRecord } from './container-record.js';
import { walkItems } from './item-walk.js';
import type { ContainerAddress, ListPosition } from './types.js';

// Containers whose blobs can have policies and legal holds (blob-service §15.5).

/** Visible states: a container that has one must not be deleted. */
const anything = { snapshots: true, versions: true, uncommitted: false, deleted: false } as const;
const oneItem = { limit: 1, bytesMax: 0, timeMsMax: 1_000 } as const;

/**
 * Whether a container has a blob, a snapshot or a version. Uncommitted blocks and what was deleted
 * and is kept do not count. Takes as long as it takes to pass over these.
 */
export async function hasBlobs(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  container: Bytes,
): Promise<boolean> {
  let from: ListPosition | undefined;
  do {
    const selection = from === undefined ? anything : { ...anything, from };
    const page = await walkItems({ store, clock }, container, selection, oneItem);
    if (page.items.length > 0) return true;
    from = page.next;
  } while (from !== undefined);
  return false;
}

/** The prefix of the content of a container. */
export function contentPrefix(account: string, { id }: Pick<ContainerRecord, 'id'>): Bytes {
  return containerPrefix(containerKind.service, account, id);
}

/**
 * Runs a write that gives a blob a policy or a legal hold, where the container has immutable
 * storage. Others throw `NotImplemented`, which says how it is switched on.
 *
 * Neither is lost by a deletion of the container at the same time: the record of the container is
 * written after the blob, and a deletion looks for blobs after it has read the record that it
 * removes. So the deletion finds the blob, or its commit fails, or this throws `ContainerNotFound`.
 */
export async function protecting<T>(
  context: BlobContext,
  { account, container }: ContainerAddress,
  given: Immutability | undefined,
  write: () => Promise<T>,
): Promise<T> {
  if (given === undefined) return write();
  const { id } = await immutableContainer(context, { account, container });
  const written = await write();
  const name = `${account}/${id}`;
  await context.protections.run(name, undefined, () => note(context, { account, container }, id));
  return written;
}

/** Throws `ContainerNotFound`, and `NotImplemented` for a container without immutable storage. */
export async function immutableContainer(
  { containers, immutability }: Pick<BlobContext, 'containers' | 'immutability'>,
  { account, container }: ContainerAddress,
): Promise<ContainerRecord> {
  const record = await containers.find(account, container);
  if (record === undefined) throw new StorageError('ContainerNotFound');
  const isOn = !isOfService(container) && (record.isImmutable || immutability(account));
  if (isOn) return record;
  throw new StorageError('NotImplemented', {
    message:
      `The account ${account} has no immutable storage: nothing would keep the blob. ` +
      'Start the server with --blob-immutability.',
  });
}

/** Records in the container that blobs of it were protected; its ETag stays. */
async function note(
  { containers }: Pick<BlobContext, 'containers'>,
  { account, container }: ContainerAddress,
  id: number,
): Promise<void> {
  const noted = await containers.update(account, container, (record) => {
    if (record.id !== id) throw new StorageError('ContainerNotFound');
    return { ...record, isImmutable: true };
  });
  if (noted === undefined) throw new StorageError('ContainerNotFound');
}
