import { propertyBagOf } from '../../model/bag/bag.js';
import { edmTypeOf, isInt32, valueFromText } from '../../wire/edm/literal.js';
import { isPropertyName } from '../../model/edm/property-name.js';
import type { EdmType, EdmValue, EntityInput, Property } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { SeedError, type SeedEntity, type SeedPath, type SeedValue } from './seed-data.js';

const annotationSuffix = '@odata.type';

/**
 * The entity in the form of the table service. Throws `SeedError` at the first invalid property.
 */
export function entityInputOf(entity: SeedEntity, path: SeedPath): EntityInput {
  const fail = (name: string, reason: string): never => {
    throw new SeedError([...path, name], reason, entity);
  };
  const keyOf = (name: 'PartitionKey' | 'RowKey'): string => {
    const value = entity[name];
    return typeof value === 'string' ? value : fail(name, 'every entity needs this key, a text');
  };
  const partitionKey = keyOf('PartitionKey');
  const rowKey = keyOf('RowKey');
  const properties: Property[] = [];
  for (const [name, value] of Object.entries(entity)) {
    if (isOfSystem(name) || value === null || value === undefined) continue;
    if (!isPropertyName(name)) fail(name, 'a property cannot have this name');
    const annotation = entity[name + annotationSuffix];
    try {
      properties.push({ name, value: valueOf(name, value, annotation) });
    } catch (error) {
      if (error instanceof BadValue) fail(name, error.message);
      throw error;
    }
  }
  return { partitionKey, rowKey, properties: propertyBagOf(properties) };
}

class BadValue extends Error {}

function isOfSystem(name: string): boolean {
  return (
    name === 'PartitionKey' ||
    name === 'RowKey' ||
    name === 'Timestamp' ||
    name.startsWith('odata.') ||
    name.includes('@odata.')
  );
}

function valueOf(name: string, value: NonNullable<SeedValue>, annotation: SeedValue): EdmValue {
  if (annotation !== undefined) {
    if (typeof value !== 'object') return typed(name, typeNamed(annotation), value);
    throw new BadValue('a value whose type is annotated must be a text, a number or a boolean');
  }
  switch (typeof value) {
    case 'string':
      return { type: 'Edm.String', value };
    case 'boolean':
      return { type: 'Edm.Boolean', value };
    case 'bigint':
      return typed(name, 'Edm.Int64', value);
    case 'number':
      return numberValue(name, value);
    default:
      return objectValue(name, value);
  }
}

function numberValue(name: string, value: number): EdmValue {
  if (!Number.isInteger(value)) return { type: 'Edm.Double', value };
  if (isInt32(value)) return { type: 'Edm.Int32', value };
  if (Number.isSafeInteger(value)) return typed(name, 'Edm.Int64', value);
  throw new BadValue(
    'a whole number of this size is not exact; write { type: Int64, value: … } with its digits as ' +
      'a text, or { type: Double, value: … }',
  );
}

function objectValue(name: string, value: object): EdmValue {
  if (value instanceof Date) {
    if (!Number.isNaN(value.getTime())) return typed(name, 'Edm.DateTime', value.toISOString());
    throw new BadValue('the date is invalid');
  }
  if (value instanceof Uint8Array) return { type: 'Edm.Binary', value };
  if ('type' in value && 'value' in value) {
    return typed(name, typeNamed(value.type), value.value);
  }
  throw new BadValue('a value is a text, a number, true, false, or { type: …, value: … }');
}

function typeNamed(type: unknown): EdmType {
  const text = String(type);
  const found = edmTypeOf(text) ?? edmTypeOf(`Edm.${text}`);
  if (found !== undefined) return found;
  throw new BadValue(
    `there is no type '${text}'; types are String, Int32, Int64, Double, Boolean, DateTime, Guid ` +
      'and Binary',
  );
}

function typed(name: string, type: EdmType, value: unknown): EdmValue {
  const isScalar = ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
  if (!isScalar) throw new BadValue(`a value of ${type} is a text, a number or a boolean`);
  try {
    return valueFromText(type, String(value), name);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new BadValue(`the value is no ${type}`);
  }
}
