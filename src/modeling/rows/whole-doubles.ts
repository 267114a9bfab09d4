/**
 * The service writes a whole Double as `3.0` or `3e5` without a type. `JSON.parse` makes 3 of
 * `3.0`, and the client then takes it for an Int32. These functions search the JSON text for such
 * numbers.
 *
 * They match nothing but a name and its value: inside a JSON string, a quotation mark follows a
 * backslash, and property names contain none.
 */

/** `"name":3.0` or `"name":3e5`, whole or not. */
const fraction = String.raw`\.0+(?![0-9.eE])`;
const exponent = String.raw`(?:\.[0-9]+)?[eE][+-]?[0-9]+`;
const number = `-?[0-9]+(?:${fraction}|${exponent})`;
const candidate = new RegExp(`": ?${number}`);
/** Matches the start of an entity, or a property that may be a whole Double. */
const marks = new RegExp(`"odata\\.etag":|"([^"\\\\]+)": ?(${number})`, 'g');

/** A quick test: most responses hold no such number. */
export function mayHoldWholeDoubles(json: string): boolean {
  return candidate.test(json);
}

/** Values by property name. */
export type WholeDoubles = ReadonlyMap<string, number>;

/**
 * The whole Doubles of each entity in a response, by the entity's index. Entities are counted by
 * their ETags, which come first in each.
 */
export function findWholeDoubles(json: string): ReadonlyMap<number, WholeDoubles> {
  const entities = new Map<number, Map<string, number>>();
  let index = -1;
  for (const [, name, written] of json.matchAll(marks)) {
    const value = Number(written);
    if (name === undefined) index += 1;
    else if (Number.isSafeInteger(value)) {
      const found = entities.get(index) ?? new Map<string, number>();
      entities.set(index, found.set(name, value));
    }
  }
  return entities;
}
