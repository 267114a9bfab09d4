import { equalBytes, startsWith, type Bytes } from '../../base/bytes.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Entry, KeyRange } from '../../kv/store.js';
import { decodeTuple, prefixRange } from '../../kv/tuple.js';
import {
  accountOfKey,
  containerNamesPrefix,
  deletedContainersPrefix,
  servicePrefix,
} from '../containers/keys.js';
import { decodeDeleted } from '../containers/soft-deleted-containers.js';
import { containerKind } from './container-record.js';
import { blobNameOfKey, containerOfKey } from './keys.js';
import { referencedPieces } from './referenced-extents.js';

/** An extent to which a blob of a container refers: the blob itself, a snapshot, or a block. */
export interface BlobExtent {
  readonly account: string;
  readonly container: string;
  readonly blob: string;
  readonly id: string;
  /** The number of bytes that the extent has at least. */
  readonly bytes: number;
}

const everything = servicePrefix(containerKind.service);

/** The keys that `extentsOfBlobs` reads. */
export const rangeOfBlobs: KeyRange = prefixRange(everything);

/** Whether the key is one that `extentsOfBlobs` reads. */
export function isOfBlobs(key: Bytes): boolean {
  return startsWith(key, everything);
}

/**
 * The extents to which blobs refer, each once. `entries`: all of the service, in the order of their
 * keys. Dropped containers have none; soft-deleted ones have theirs.
 */
export async function* extentsOfBlobs(
  entries: AsyncIterable<Entry>,
): AsyncGenerator<BlobExtent, void, void> {
  const names = new Map<number, string>();
  let account: string | undefined;
  let blob: BlobInProgress | undefined;
  for await (const entry of entries) {
    const { key } = entry;
    const [, ofAccount, id] = decodeTuple(key, 0, 3);
    if (ofAccount !== account) names.clear();
    account = accountOfKey(key);
    const partition = key.subarray(0, partitionPrefixLength(key));
    if (blob === undefined || !equalBytes(blob.partition, partition)) {
      if (blob !== undefined) yield* blob.extents();
      blob = undefined;
    }
    // The directory of an account stands before its containers.
    if (startsWith(key, containerNamesPrefix(containerKind.service, account))) {
      const record = containerKind.decode(entry.value, entry.version);
      names.set(record.id, record.name);
      continue;
    }
    if (startsWith(key, deletedContainersPrefix(containerKind.service, account))) {
      const record = containerKind.decode(decodeDeleted(entry.value).record, entry.version);
      names.set(record.id, record.name);
      continue;
    }
    const container = typeof id === 'number' ? names.get(id) : undefined;
    if (container === undefined) continue;
    blob ??= new BlobInProgress(partition, account, container);
    blob.add(entry);
  }
  if (blob !== undefined) yield* blob.extents();
}

/** The extents of one blob so far, so that one of several snapshots counts once. */
class BlobInProgress {
  readonly partition: Bytes;
  readonly #account: string;
  readonly #container: string;
  readonly #bytes = new Map<string, number>();

  constructor(partition: Bytes, account: string, container: string) {
    this.partition = partition;
    this.#account = account;
    this.#container = container;
  }

  add(entry: Entry): void {
    for (const { piece, bytes } of referencedPieces(entry)) {
      if (piece.kind !== 'extent') continue;
      this.#bytes.set(piece.id, Math.max(bytes, this.#bytes.get(piece.id) ?? 0));
    }
  }

  *extents(): Generator<BlobExtent, void, void> {
    const [account, container] = [this.#account, this.#container];
    const blob = blobNameOfKey(this.partition, containerOfKey(this.partition));
    for (const [id, bytes] of this.#bytes) yield { account, container, blob, id, bytes };
  }
}
