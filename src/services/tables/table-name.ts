import {
  isMetricsTable,
  metricsTableName,
  metricsTableOf,
} from '../../model/analytics/metrics-table.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { containerIdentity } from '../../model/services/services.js';

const nameLengthMin = 3;
const nameLengthMax = 63;
const nameCharacters = /^[A-Za-z][A-Za-z0-9]*$/;
const reservedName = 'tables';

/** The identity of a table in its account: names are compared without case. */
export function tableIdentity(name: string): string {
  return containerIdentity('table', name);
}

/** Whether a table can have this name (table-service §2.1). */
export function isTableName(name: string): boolean {
  return (
    name.length >= nameLengthMin &&
    name.length <= nameLengthMax &&
    nameCharacters.test(name) &&
    tableIdentity(name) !== reservedName
  );
}

/**
 * Whether the table is kept by the server itself: lists do not show it, and clients may read it and
 * delete its entities (blob-service §22.1).
 */
export function isSystemTable(name: string): boolean {
  return isMetricsTable(name);
}

/** The name under which a system table is kept: some have a former one as well. */
export function systemTableName(name: string): string {
  const table = metricsTableOf(name);
  return table === undefined ? name : metricsTableName(table);
}

/** The names of system tables begin with it, and no others do. */
export const systemTablePrefix = '$';

/** The lowest identity of a table that is no system table. */
export const lowestIdentity = 'a';

/** Refuses a name under which no table may be created, with the code of the rule it breaks. */
export function checkTableName(name: string): void {
  if (name.length < nameLengthMin || name.length > nameLengthMax) {
    throw new StorageError('OutOfRangeInput', {
      message: 'The specified resource name length is not within the permissible limits.',
    });
  }
  if (!nameCharacters.test(name)) throw new StorageError('InvalidResourceName');
  if (tableIdentity(name) === reservedName) throw new StorageError('InvalidInput');
}
