import { own } from '../../base/own.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { storedNameOf } from '../definition/entity-definition.js';
import type { AnyProperty, FlagsOf, Properties, ValueOf } from '../definition/property.js';
import { DefinitionError } from '../rows/model-error.js';
import type { WireValue } from '../rows/row.js';
import type { Filter } from '../table/filter.js';
import type { EncryptedTable } from './encrypted-table.js';

/** The names of a definition's encrypted properties. */
export type EncryptedNames<P extends Properties> = {
  [N in keyof P & string]: 'encrypted' extends FlagsOf<P[N]> ? N : never;
}[keyof P & string];

/**
 * A filter for an encrypted property with a value, for `where` of a query: `where: () =>
 * condition`. The property must be listed in `deterministic` of the table. Sends nothing; one
 * `unwrapKey` for each deterministic key, ever. Throws `DefinitionError` for a property that is
 * stored as several.
 */
export async function encryptedEquals<
  D extends AnyDefinition,
  N extends EncryptedNames<D['properties']>,
>(
  table: EncryptedTable,
  { type, properties }: D,
  name: N,
  value: NonNullable<ValueOf<D['properties'][N]>>,
): Promise<Filter> {
  const property: AnyProperty | undefined = own<AnyProperty>(properties, name);
  if (property === undefined) throw new DefinitionError(`${type} has no property '${name}'`);
  const stored = storedNameOf(name, property);
  const written = new Map<string, WireValue>();
  property.model.codec.write(stored, value, {
    put: (wireName, wire) => written.set(wireName, wire),
    finer: () => undefined,
  });
  const wire = written.get(stored);
  if (wire === undefined || written.size > 1) {
    throw new DefinitionError(
      `${type}.${name} is stored as several properties: no equality finds it`,
    );
  }
  return table.equalTo(stored, wire);
}
