import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import {
  appendNumber,
  appendString,
  appendTuple,
  decodeTuple,
  elementEnd,
  encodeTuple,
  stringAt,
} from '../../kv/tuple.js';

// Permanent: these values are in every data directory. See docs/internals/container-keys.md.
const directoryContainer = 0;
const directoryPartition = '';
const idKind = 0;
const nameKind = 1;
const droppedKind = 2;
const servicePropertiesKind = 3;
const reservedNameKind = 4;
const deletedKind = 5;

/** All entries of one service in all accounts. */
export function servicePrefix(service: string): Bytes {
  return encodeTuple([service]);
}

/** All entries of one service in one account. */
export function accountPrefix(service: string, account: string): Bytes {
  return encodeTuple([service, account]);
}

/** The account in any key of any service. */
export function accountOfKey(key: Bytes): string {
  return stringAt(key, elementEnd(key, 0));
}

function directoryPrefix(service: string, account: string): Bytes {
  return partitionPrefix(service, account, directoryContainer, directoryPartition);
}

/** The counter of an account's container ids. */
export function containerIdKey(service: string, account: string): Bytes {
  return appendNumber(directoryPrefix(service, account), idKind);
}

/** The prefix of the directory entries of an account's containers. An identity follows. */
export function containerNamesPrefix(service: string, account: string): Bytes {
  return appendNumber(directoryPrefix(service, account), nameKind);
}

/** A container's directory entry. */
export function containerNameKey(service: string, account: string, identity: string): Bytes {
  return appendString(containerNamesPrefix(service, account), identity);
}

/** The prefix of an account's list of dropped containers. An id follows. */
export function droppedContainersPrefix(service: string, account: string): Bytes {
  return appendNumber(directoryPrefix(service, account), droppedKind);
}

export function droppedContainerKey(service: string, account: string, id: number): Bytes {
  return appendNumber(droppedContainersPrefix(service, account), id);
}

/** The id in a key of the dropped list with this prefix. */
export function droppedIdOfKey(key: Bytes, prefix: Bytes): number {
  const [id] = decodeTuple(key, prefix.length);
  invariant(typeof id === 'number', 'an entry of the dropped list ends with an id');
  return id;
}

/** Where an account keeps the properties of a service. */
export function servicePropertiesKey(service: string, account: string): Bytes {
  return appendNumber(directoryPrefix(service, account), servicePropertiesKind);
}

/** The prefix of an account's name reservations. An identity follows. */
export function reservedNamesPrefix(service: string, account: string): Bytes {
  return appendNumber(directoryPrefix(service, account), reservedNameKind);
}

export function reservedNameKey(service: string, account: string, identity: string): Bytes {
  return appendString(reservedNamesPrefix(service, account), identity);
}

/** The prefix of the soft-deleted containers of an account. An identity and an id follow. */
export function deletedContainersPrefix(service: string, account: string): Bytes {
  return appendNumber(directoryPrefix(service, account), deletedKind);
}

/** A soft-deleted container. Several may have had the same name. */
export function deletedContainerKey(
  service: string,
  account: string,
  { identity, id }: DeletedKey,
): Bytes {
  return appendTuple(deletedContainersPrefix(service, account), [identity, id]);
}

/** The elements after the prefix in the key of a soft-deleted container. */
export interface DeletedKey {
  readonly identity: string;
  readonly id: number;
}

export function readDeletedKey(key: Bytes, prefix: Bytes): DeletedKey {
  const [identity, id] = decodeTuple(key, prefix.length);
  invariant(
    typeof identity === 'string' && typeof id === 'number',
    'the key of a deleted container ends with its identity and its id',
  );
  return { identity, id };
}

/** The prefix of a container's content. A partition follows. */
export function containerPrefix(service: string, account: string, id: number): Bytes {
  return encodeTuple([service, account, id]);
}
