import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import type { Metadata } from '../../wire/resources/metadata.js';
import type { SignedIdentifier } from '../../wire/resources/signed-identifier.js';
import type { ContainerKind, ContainerRecord } from '../containers/containers.js';

export interface QueueRecord extends ContainerRecord {
  readonly metadata: Metadata;
  readonly identifiers: readonly SignedIdentifier[];
}

// Permanent: these bytes are in every data directory. See docs/internals/queue-keys.md.
const recordFormat = 1;
/** Stands for a part that a signed identifier does not have; an empty one is an empty string. */
const absent = 0;

export const queueKind: ContainerKind<QueueRecord> = {
  service: 'queue',
  encode: encodeQueueRecord,
  decode: decodeQueueRecord,
};

function encodeQueueRecord({ id, name, metadata, identifiers }: QueueRecord): Bytes {
  const elements: TupleElement[] = [recordFormat, id, name, metadata.length];
  for (const [key, value] of metadata) elements.push(key, value);
  for (const { id: policy, start, expiry, permission } of identifiers) {
    elements.push(policy, start ?? absent, expiry ?? absent, permission ?? absent);
  }
  return encodeTuple(elements);
}

function decodeQueueRecord(value: Bytes): QueueRecord {
  const elements = decodeTuple(value);
  const [format, id, name, count] = elements;
  invariant(format === recordFormat, `unknown format ${String(format)} of a queue record`);
  invariant(
    typeof id === 'number' && typeof name === 'string' && typeof count === 'number',
    'a queue record is malformed',
  );
  const metadataEnd = 4 + 2 * count;
  const metadata: (readonly [string, string])[] = [];
  for (let at = 4; at < metadataEnd; at += 2) {
    metadata.push([text(elements[at]), text(elements[at + 1])]);
  }
  const identifiers: SignedIdentifier[] = [];
  for (let at = metadataEnd; at < elements.length; at += 4) {
    identifiers.push(identifierOf(elements.slice(at, at + 4)));
  }
  return { id, name, metadata, identifiers };
}

function identifierOf([id, start, expiry, permission]: readonly TupleElement[]): SignedIdentifier {
  return {
    id: text(id),
    ...(start === absent ? {} : { start: text(start) }),
    ...(expiry === absent ? {} : { expiry: text(expiry) }),
    ...(permission === absent ? {} : { permission: text(permission) }),
  };
}

function text(element: TupleElement | undefined): string {
  invariant(typeof element === 'string', 'a queue record is malformed');
  return element;
}
