import { own } from '../../base/own.js';
import type { Row } from '../rows/row.js';
import type { AnyDefinition } from './entity-definition.js';

/** The version of the definition that wrote a row; 1 when the row does not say. */
export function rowVersion({ system }: AnyDefinition, { properties }: Row): number {
  const stored = own(properties, system.version);
  return stored?.type === 'Int32' ? stored.value : 1;
}

/** Whether an older version of the definition wrote a row. */
export function isOutdated(definition: AnyDefinition, row: Row): boolean {
  return rowVersion(definition, row) < definition.version;
}
