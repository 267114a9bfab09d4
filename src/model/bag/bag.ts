import { asBuffer, type Bytes } from '../../base/bytes.js';
import { InvariantError, invariant } from '../../base/invariant.js';
import {
  firstProperty,
  fragmentEnd,
  headersEnd,
  nameLength,
  nameStart,
  propertyHeaderBytes,
  propertyTag,
  propertyTags,
  valueStart,
} from './bag-layout.js';
import { parseDateTime } from '../edm/date-time.js';
import type { EdmValue, Property } from '../edm/value.js';

export {
  annotationLength,
  bagCount,
  findProperty,
  firstProperty,
  fragmentEnd,
  fragmentStart,
  hasName,
  headersEnd,
  nameLength,
  nameStart,
  propertyHeaderBytes,
  propertyTag,
  propertyTags,
  textEnd,
  textStart,
  valueStart,
} from './bag-layout.js';
export { annotationLengths, BagBuilder, encodeBag, propertyBagOf } from './bag-builder.js';

export function propertyName(bag: Bytes, at: number): string {
  const start = nameStart(bag, at);
  return asBuffer(bag).toString('utf8', start, start + nameLength(bag, at));
}

/** A copy of the value of the property whose header is at `at`. */
export function readValue(bag: Bytes, at: number): EdmValue {
  const tag = propertyTag(bag, at);
  if (tag === propertyTags.string) return { type: 'Edm.String', value: readString(bag, at) };
  const text = valueText(bag, at);
  switch (tag) {
    case propertyTags.int32:
      return { type: 'Edm.Int32', value: Number(text) };
    case propertyTags.int64:
      return { type: 'Edm.Int64', value: BigInt(text) };
    case propertyTags.double:
      return { type: 'Edm.Double', value: Number(text) };
    case propertyTags.boolean:
      return { type: 'Edm.Boolean', value: text === 'true' };
    case propertyTags.dateTime: {
      const ticks = parseDateTime(text);
      invariant(ticks !== undefined, 'the text of a date');
      return { type: 'Edm.DateTime', value: ticks };
    }
    case propertyTags.guid:
      return { type: 'Edm.Guid', value: text };
    case propertyTags.binary:
      return { type: 'Edm.Binary', value: Buffer.from(text, 'base64') };
    default:
      throw new InvariantError(`a known property tag, not ${tag}`);
  }
}

function readString(bag: Bytes, at: number): string {
  return jsonText(bag, valueStart(bag, at) + 1, fragmentEnd(bag, at) - 1);
}

/** Decodes the content of a stored string, or a part that cuts no character and no escape. */
export function jsonText(bag: Bytes, start: number, end: number): string {
  const text = asBuffer(bag).toString('utf8', start, end);
  return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text;
}

/** The text of a non-string value, without quotes. */
function valueText(bag: Bytes, at: number): string {
  const start = valueStart(bag, at);
  const end = fragmentEnd(bag, at);
  const quotes = bag[start] === 0x22 ? 1 : 0;
  return asBuffer(bag).toString('latin1', start + quotes, end - quotes);
}

export function decodeBag(bag: Bytes): Property[] {
  const properties: Property[] = [];
  const end = headersEnd(bag);
  for (let at = firstProperty; at < end; at += propertyHeaderBytes) {
    properties.push({ name: propertyName(bag, at), value: readValue(bag, at) });
  }
  return properties;
}
