import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import type { ContainerKind, ContainerRecord } from '../containers/containers.js';
import { isTableName, tableIdentity } from './table-name.js';

// Permanent: these values are in every data directory. See docs/internals/table-keys.md.
const recordFormat = 1;

/** How tables are kept as containers. A record holds nothing but the id and the name. */
export const tableKind: ContainerKind<ContainerRecord> = Object.freeze({
  service: 'table',
  identityOf: (name: string) => (isTableName(name) ? tableIdentity(name) : undefined),
  encode: ({ id, name }: ContainerRecord) => encodeTuple([recordFormat, id, name]),
  decode(value): ContainerRecord {
    const [format, id, name] = decodeTuple(value);
    invariant(format === recordFormat, `unknown format ${String(format)} of a table record`);
    invariant(typeof id === 'number' && typeof name === 'string', 'a table record is malformed');
    return { id, name };
  },
} satisfies ContainerKind<ContainerRecord>);
