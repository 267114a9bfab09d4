import { decodeBag } from '../../src/model/bag/bag.js';
import type { Property } from '../../src/model/edm/value.js';
import { parseEntityBody, type EntityBody } from '../../src/wire/odata/json-reader.js';

/** The body of a write with its properties as values. */
export function readEntityBody(
  text: string,
): Omit<EntityBody, 'properties'> & { readonly properties: readonly Property[] } {
  const body = parseEntityBody(text);
  return { ...body, properties: decodeBag(body.properties.bag) };
}
