import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple } from '../../kv/tuple.js';

/**
 * The id in a stored container record of any kind: every record begins with its format, one of
 * those of its kind, and the id.
 */
export function recordId(value: Bytes, ...formats: readonly number[]): number {
  const [format, id] = decodeTuple(value, 0, 2);
  const isKnown = formats.some((each) => each === format);
  invariant(isKnown, `unknown format ${String(format)} of a record`);
  invariant(typeof id === 'number', 'a record of a container is malformed');
  return id;
}
