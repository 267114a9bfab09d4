import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { ContainerKind } from '../containers/containers.js';
import { recordId } from '../containers/record-id.js';
import { policiesOf, policyElements, type PolicedRecord } from '../containers/stored-policies.js';

export interface QueueRecord extends PolicedRecord {
  readonly metadata: Metadata;
}

// Permanent: these bytes are in every data directory. See docs/internals/queue-keys.md.
const recordFormat = 1;

export const queueKind: ContainerKind<QueueRecord> = {
  service: 'queue',
  encode: encodeQueueRecord,
  decode: decodeQueueRecord,
  idOf: (value) => recordId(value, recordFormat),
};

function encodeQueueRecord({ id, name, metadata, identifiers }: QueueRecord): Bytes {
  const elements: TupleElement[] = [recordFormat, id, name, metadata.length];
  for (const [key, value] of metadata) elements.push(key, value);
  return encodeTuple([...elements, ...policyElements(identifiers)]);
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
  return { id, name, metadata, identifiers: policiesOf(elements.slice(metadataEnd)) };
}

function text(element: TupleElement | undefined): string {
  invariant(typeof element === 'string', 'a queue record is malformed');
  return element;
}
