import { yieldIfBusy } from '../../base/async/slice.js';
import { unboundedMemory, type MemoryBudget } from '../../base/async/memory-budget.js';
import type { Bytes } from '../../base/bytes.js';
import { lazyList } from '../../base/lazy-list.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord } from './blob-record.js';
import { walkItems, type WalkedItem, type WalkedPage } from './item-walk.js';
import { propertiesOf } from './reads.js';
import { deletionInfo } from './retention.js';
import type {
  BlobList,
  BlobQuery,
  ContainerAddress,
  ListedBlob,
  ListedPrefix,
  ListSelection,
} from './types.js';

export type ListingContext = Pick<BlobContext, 'store' | 'clock' | 'containers'>;

/** Keys and records of a page; the rest follows in the next. */
const pageBytesMax = 4 << 20;
/** Pages up to this size are read without reserving memory. */
const shortPageBytesMax = 64 * 1024;
/** The time after which a page ends, with what was found. */
const listingMsMax = 5_000;

/**
 * One page of List Blobs (blob-service §8). It may have fewer items than `limit`, or none, and
 * still a `next`. Throws `ContainerNotFound`.
 */
export async function listBlobs(
  context: ListingContext,
  { account, container }: ContainerAddress,
  { limit, ...selection }: BlobQuery,
  memory: MemoryBudget = unboundedMemory,
): Promise<BlobList> {
  await yieldIfBusy(context.clock);
  const prefix = await context.containers.prefixOf(account, container);
  if (prefix === undefined) throw new StorageError('ContainerNotFound');
  const page = await readPage(context, prefix, { selection, limit }, memory);
  const nowMicros = context.clock.nowMicros();
  const items = lazyList(page.items, (item) => listedItem(item, nowMicros));
  return page.next === undefined ? { items } : { items, next: page.next };
}

async function readPage(
  context: ListingContext,
  container: Bytes,
  { selection, limit }: { readonly selection: ListSelection; readonly limit: number },
  memory: MemoryBudget,
): Promise<WalkedPage> {
  const budget = { limit, bytesMax: shortPageBytesMax, timeMsMax: listingMsMax };
  const short = await walkItems(context, container, selection, budget);
  if (short.endedBy !== 'bytes') return short;
  // Waits before the read, so that a waiting request holds little data.
  await memory.enter(pageBytesMax);
  const long = { ...budget, bytesMax: pageBytesMax };
  const page = await walkItems(context, container, selection, long);
  memory.hold(page.bytes);
  return page;
}

function listedItem(item: WalkedItem, nowMicros: number): ListedBlob | ListedPrefix {
  if (item.kind === 'prefix') return item;
  const { name, entry } = item;
  const record = decodeBlobRecord(entry.value, entry.version);
  if (record.state === 'uncommitted') return { kind: 'blob', name };
  const { deleted } = record;
  const isBlob = item.kind === 'base';
  const isSnapshot = item.kind === 'version' && record.versionMicros === undefined;
  const properties = propertiesOf({ record, isBlob }, nowMicros);
  return {
    kind: 'blob',
    name,
    ...(isSnapshot && { snapshotMicros: item.micros }),
    ...(properties.version !== undefined && { version: properties.version }),
    ...(item.kind === 'versions-only' && { hasVersionsOnly: true }),
    ...(deleted !== undefined && { deleted: deletionInfo(deleted, nowMicros) }),
    properties,
  };
}
