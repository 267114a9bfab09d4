import { entitySize } from '../../model/edm/entity-size.js';
import { forbiddenKeyCharacterAt } from '../../model/edm/key.js';
import { entitySizeMax, keyLengthMax, propertiesMax } from '../../model/edm/limits.js';
import type { EntityInput, PropertyBag } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';

/** True when an entity can have these keys, so that a lookup is worthwhile. */
export function areKeysPossible(partitionKey: string, rowKey: string): boolean {
  return isKeyPossible(partitionKey) && isKeyPossible(rowKey);
}

function isKeyPossible(key: string): boolean {
  return key.length <= keyLengthMax && forbiddenKeyCharacterAt(key) === -1;
}

/** Refuses illegal keys of a new entity (table-service §2.3). */
export function checkNewKeys(partitionKey: string, rowKey: string): void {
  checkNewKey('PartitionKey', partitionKey);
  checkNewKey('RowKey', rowKey);
}

function checkNewKey(name: 'PartitionKey' | 'RowKey', key: string): void {
  if (key.length > keyLengthMax) throw new StorageError('PropertyValueTooLarge');
  if (forbiddenKeyCharacterAt(key) !== -1) {
    throw new StorageError('OutOfRangeInput', {
      message: `The '${name}' parameter of value '${key}' is out of range.`,
    });
  }
}

/**
 * Refuses an entity over the limits: too many properties, a name too long, the entity too large, a
 * value too large; in this order, as the service checks the whole entity first (table-service
 * §2.2).
 */
export function checkEntity(
  { partitionKey, rowKey, properties }: EntityInput,
  countMax = propertiesMax,
): void {
  checkNames(properties, countMax);
  if (entitySize(partitionKey, rowKey, properties.propertyBytes) > entitySizeMax) {
    throw new StorageError('EntityTooLarge');
  }
  if (properties.valueTooLarge) throw new StorageError('PropertyValueTooLarge');
}

/** The first half of `checkEntity`; a bag that fails it may be invalid. */
export function checkNames({ count, nameTooLong }: PropertyBag, countMax = propertiesMax): void {
  if (count > countMax) throw new StorageError('TooManyProperties');
  if (nameTooLong) throw new StorageError('PropertyNameTooLong');
}
