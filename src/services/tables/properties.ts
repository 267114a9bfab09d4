import type { Bytes } from '../../base/bytes.js';
import { decodeBag } from '../../wire/edm/bag.js';
import type { Property } from '../../wire/edm/value.js';

/**
 * Properties in ordinal order of their names, which is how an entity keeps them after any PUT or
 * MERGE (spec table-service §2.6). Returns what it was given when that is in order already.
 */
export function sortedProperties(properties: readonly Property[]): readonly Property[] {
  for (let index = 1; index < properties.length; index += 1) {
    if (byName(properties[index - 1], properties[index]) > 0) return properties.toSorted(byName);
  }
  return properties;
}

/** The stored properties with the given ones laid over them, in ordinal order of their names. */
export function mergedProperties(stored: Bytes, given: readonly Property[]): readonly Property[] {
  const merged = new Map<string, Property>();
  for (const property of decodeBag(stored)) merged.set(property.name, property);
  for (const property of given) merged.set(property.name, property);
  return sortedProperties(Array.from(merged.values()));
}

function byName(left: Property | undefined, right: Property | undefined): number {
  if (left === undefined || right === undefined || left.name === right.name) return 0;
  return left.name < right.name ? -1 : 1;
}
