import { ManagerError, MapSchemaError } from './manager-errors.js';
import type { Texts } from './manager-rows.js';
import type { SchemaPrint } from './map-schema.js';

/** The row by which a map is registered. */
export function textsOfMap(table: string, print: SchemaPrint): Texts {
  return {
    Table: table,
    KeyType: print.keyType,
    SchemaVersion: String(print.version),
    Schema: print.text,
    References: JSON.stringify(print.references),
  };
}

/** Throws `MapSchemaError` unless the program's schema is that of the map. */
export function refuseOtherSchema(name: string, stored: Texts, print: SchemaPrint): void {
  const { KeyType: keyType, SchemaVersion: version, Schema: text } = stored;
  if (keyType !== print.keyType) {
    throw new MapSchemaError(
      `the map '${name}' has keys of the type ${keyType}, this program ${print.keyType}`,
    );
  }
  if (version === String(print.version) && text === print.text) return;
  throw new MapSchemaError(
    `the map '${name}' has the schema of version ${version}, this program another one of ` +
      `version ${print.version}; use the same definitions, or upgrade the map`,
  );
}

/**
 * The row of a map with the schema of a later version; undefined: it has that version. Throws
 * `MapSchemaError` for another type of keys, and for a version that is behind.
 */
export function upgradedTexts(name: string, stored: Texts, print: SchemaPrint): Texts | undefined {
  const { KeyType: keyType, SchemaVersion: version = '0' } = stored;
  if (keyType !== print.keyType) {
    throw new MapSchemaError(`the keys of the map '${name}' stay ${keyType}`);
  }
  if (Number(version) > print.version) {
    throw new MapSchemaError(`the map '${name}' has the version ${version} already`);
  }
  if (Number(version) === print.version) return undefined;
  return { ...stored, ...textsOfMap(tableIn(stored), print) };
}

/** The table of what a map deals to shards, on each of them. */
export function tableIn({ Table: table = '' }: Texts): string {
  return table;
}

/** The tables that a map has on each shard. */
export function tablesIn(texts: Texts): readonly string[] {
  return [tableIn(texts), ...referencesIn(texts)];
}

/** Its tables of reference data. */
export function referencesIn({ References: references = '[]' }: Texts): readonly string[] {
  const names: unknown = JSON.parse(references);
  return Array.isArray(names) ? names.filter((each) => typeof each === 'string') : [];
}

/** For a map that is not registered. */
export function noMap(name: string): ManagerError {
  return new ManagerError(`there is no map '${name}'; create it`);
}
