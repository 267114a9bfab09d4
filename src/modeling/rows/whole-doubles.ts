/**
 * The answers of the service write a Double as a number with a fraction or an exponent and give it
 * no type. `JSON.parse` makes 3 of `3.0`, and the client then takes it for an Int32. These
 * functions look at the text again, and find what was written so.
 */

/** A whole number written as a Double. Texts can match as well; that costs only the second look. */
const candidate = /: ?-?\d+(?:\.0+(?![0-9])|(?:\.\d+)?[eE])/;

/** Whether a second look is needed: most answers have no such number. */
export function mayHoldWholeDoubles(json: string): boolean {
  return candidate.test(json);
}

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]|true|false|null/g;

/**
 * For each JSON object of an answer, in the order in which they end, the properties that are whole
 * Doubles with their values: the entities in their order, and around a list of them the answer
 * itself. `json` has been parsed before, so it is well-formed.
 */
export function findWholeDoubles(json: string): readonly ReadonlyMap<string, number>[] {
  const objects: Map<string, number>[] = [];
  const open: Map<string, number>[] = [];
  let name = '';
  let last = '';
  for (const [text] of json.matchAll(token)) {
    if (text === '{') open.push(new Map());
    else if (text === '}') objects.push(open.pop() ?? new Map());
    else if (text === ':') name = last;
    else if (isWholeDouble(text)) open.at(-1)?.set(nameOf(name), Number(text));
    last = text;
  }
  return objects;
}

function isWholeDouble(text: string): boolean {
  const first = text.charCodeAt(0);
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  return isNumber && /[.eE]/.test(text) && Number.isSafeInteger(Number(text));
}

function nameOf(quoted: string): string {
  return String(JSON.parse(quoted));
}
