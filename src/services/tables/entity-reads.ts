import type { Bytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import { appendString } from '../../kv/tuple.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { areKeysPossible } from './limits.js';

/** Reads one entity of the table with this prefix. */
export async function readEntity(
  store: Store,
  tablePrefix: Bytes,
  partitionKey: string,
  rowKey: string,
): Promise<StoredEntity> {
  if (!areKeysPossible(partitionKey, rowKey)) throw new StorageError('ResourceNotFound');
  const key = appendString(appendString(tablePrefix, partitionKey), rowKey);
  const entry = await store.get(key);
  if (entry === undefined) throw new StorageError('ResourceNotFound');
  return { partitionKey, rowKey, version: entry.version, bag: entry.value };
}
