import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple } from '../../kv/tuple.js';

/**
 * The id in a stored container record of any kind: every record begins with its format and the id.
 */
export function recordId(value: Bytes, recordFormat: number): number {
  const [format, id] = decodeTuple(value, 0, 2);
  invariant(format === recordFormat, `unknown format ${String(format)} of a record`);
  invariant(typeof id === 'number', 'a record of a container is malformed');
  return id;
}
