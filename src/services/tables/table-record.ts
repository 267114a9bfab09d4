import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import type { ContainerKind } from '../containers/containers.js';
import { recordId } from '../containers/record-id.js';
import { policiesOf, policyElements, type PolicedRecord } from '../containers/stored-policies.js';
import { isSystemTable, isTableName, systemTableName, tableIdentity } from './table-name.js';

// Permanent: these values are in every data directory. See docs/internals/table-keys.md.
const recordFormat = 1;

/** How tables are kept as containers. A record without policies ends with the name. */
export const tableKind: ContainerKind<PolicedRecord> = Object.freeze({
  service: 'table',
  identityOf(name: string) {
    if (isTableName(name)) return tableIdentity(name);
    return isSystemTable(name) ? tableIdentity(systemTableName(name)) : undefined;
  },
  encode: ({ id, name, identifiers }: PolicedRecord) =>
    encodeTuple([recordFormat, id, name, ...policyElements(identifiers)]),
  idOf: (value) => recordId(value, recordFormat),
  decode(value): PolicedRecord {
    const [format, id, name, ...policies] = decodeTuple(value);
    invariant(format === recordFormat, `unknown format ${String(format)} of a table record`);
    invariant(typeof id === 'number' && typeof name === 'string', 'a table record is malformed');
    return { id, name, identifiers: policiesOf(policies) };
  },
} satisfies ContainerKind<PolicedRecord>);
