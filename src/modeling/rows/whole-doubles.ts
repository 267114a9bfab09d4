/**
 * The answers of the service write a Double as a number with a fraction or an exponent and give it
 * no type. `JSON.parse` makes 3 of `3.0`, and the client then takes it for an Int32. These
 * functions look at the text again, and find what was written so.
 *
 * They look for what can only be a name and its value: inside of a text of JSON, a quotation mark
 * follows a backslash, and names of properties have none.
 */

/** `"name":3.0` or `"name":3e5`, whole or not. */
const fraction = String.raw`\.0+(?![0-9.eE])`;
const exponent = String.raw`(?:\.[0-9]+)?[eE][+-]?[0-9]+`;
const number = `-?[0-9]+(?:${fraction}|${exponent})`;
const candidate = new RegExp(`": ?${number}`);
/** What begins an entity, and what may be a whole Double. */
const marks = new RegExp(`"odata\\.etag":|"([^"\\\\]+)": ?(${number})`, 'g');

/** Whether a second look is needed: many answers have no such number. */
export function mayHoldWholeDoubles(json: string): boolean {
  return candidate.test(json);
}

/** By the names of the properties. */
export type WholeDoubles = ReadonlyMap<string, number>;

/**
 * The properties that are whole Doubles, with their values, for each entity of an answer by its
 * place. Entities begin with their ETags, as they do wherever the client asks for them.
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
