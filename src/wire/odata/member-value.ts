import { unreachable } from '../../base/invariant.js';
import { annotationLengths, type BagBuilder } from '../../model/bag/bag.js';
import { isInRange, parseInstant } from '../../model/edm/date-time.js';
import { isCanonicalGuid } from '../../model/edm/guid.js';
import {
  canonicalBase64Bytes,
  isCanonicalDecimal,
  isInt32,
  malformedInput,
  parseInt64Text,
  valueFromNumber,
  valueFromText,
} from '../edm/literal.js';
import type { EdmType } from '../../model/edm/value.js';

/** A member of a body and its offsets there. */
export interface MemberSource {
  readonly name: string;
  readonly kind: 'string' | 'number' | 'true' | 'false' | 'null';
  /** The string's content or the number's digits. */
  readonly text: string;
  /** Offset of the quote before the name. */
  readonly start: number;
  /** Offset of the quote that begins the annotation before it; -1 when there is none. */
  readonly annotationStart: number;
  /** Offset behind the value. */
  readonly end: number;
}

/**
 * Adds a non-null member to a bag. `isCopied`: the builder has the body as its source. A member
 * that is spelled as in bags is copied from the source; all others are parsed and rewritten. Throws
 * `InvalidInput` when the value is not of its type, `OutOfRangeInput` for dates.
 */
export function addMember(
  builder: BagBuilder,
  member: MemberSource,
  type: EdmType | undefined,
  isCopied: boolean,
): void {
  switch (member.kind) {
    case 'string':
      addText(builder, member, type ?? 'Edm.String', isCopied);
      return;
    case 'number':
      addNumber(builder, member, type, isCopied);
      return;
    default:
      if (type !== undefined && type !== 'Edm.Boolean') throw malformedInput();
      addCanonical(builder, member, 'Edm.Boolean', isCopied, 0);
  }
}

/** Throws as `addMember` does for a value that is not of its type. */
export function checkValue({ name, kind, text }: MemberSource, type: EdmType): void {
  if (kind === 'string') valueFromText(type, text, name);
  else if (kind === 'number') valueFromNumber(type, text);
  else if (kind !== 'null' && type !== 'Edm.Boolean') throw malformedInput();
}

function addText(
  builder: BagBuilder,
  member: MemberSource,
  type: EdmType,
  isCopied: boolean,
): void {
  const { name, text } = member;
  if (type === 'Edm.String') {
    if (isCopied && isBareFragment(member)) {
      builder.copy(name, type, member, text.length);
    } else builder.string(name, text);
    return;
  }
  const units = canonicalUnits(type, text);
  if (units !== -1) {
    addCanonical(builder, member, type, isCopied, units);
    return;
  }
  if (type === 'Edm.DateTime') {
    const instant = parseInstant(text);
    if (instant !== undefined && isInRange(instant)) {
      builder.dateTime(name, instant.seconds, instant.fraction);
      return;
    }
  }
  builder.add(name, valueFromText(type, text, name));
}

/**
 * -1 when the content of a JSON string is not canonical for the type; otherwise the bytes of a
 * binary value, and 0 for any other.
 */
function canonicalUnits(type: PlainType, text: string): number {
  switch (type) {
    case 'Edm.Int64':
      return parseInt64Text(text) === text ? 0 : -1;
    case 'Edm.Guid':
      return isCanonicalGuid(text) ? 0 : -1;
    case 'Edm.Binary':
      return canonicalBase64Bytes(text);
    case 'Edm.DateTime': {
      const instant = parseInstant(text);
      return instant !== undefined && instant.isCanonical && isInRange(instant) ? 0 : -1;
    }
    case 'Edm.Int32':
    case 'Edm.Double':
    case 'Edm.Boolean':
      return -1;
    default:
      return unreachable(type);
  }
}

/** Without annotation, integers are Int32 where they fit; all other numbers are Double. */
function addNumber(
  builder: BagBuilder,
  member: MemberSource,
  given: EdmType | undefined,
  isCopied: boolean,
): void {
  const { name, text } = member;
  const whole = wholeNumber(text);
  const type = given ?? (isInt32(whole) ? 'Edm.Int32' : 'Edm.Double');
  if (type === 'Edm.Int32' && isInt32(whole) && !Object.is(whole, -0)) {
    addCanonical(builder, member, type, isCopied, 0);
  } else if (type === 'Edm.Double' && isCanonicalDecimal(text)) {
    addCanonical(builder, member, type, isCopied, 0);
  } else builder.add(name, valueFromNumber(type, text));
}

type PlainType = Exclude<EdmType, 'Edm.String'>;

/** Adds a value whose text in the body, unescaped, is canonical. */
function addCanonical(
  builder: BagBuilder,
  member: MemberSource,
  type: PlainType,
  isCopied: boolean,
  units: number,
): void {
  const { name, kind, annotationStart, end } = member;
  const annotation = annotationLengths[type];
  if (isCopied && annotation === 0 && isBareFragment(member)) {
    builder.copy(name, type, member, units);
    return;
  }
  if (isCopied && annotation > 0 && annotationStart !== -1) {
    // Escapes and white space would make the text longer.
    const length = annotation + name.length * 2 + valueCharacters(member) + 3;
    if (end - annotationStart === length) {
      builder.copy(name, type, { start: annotationStart, end }, units);
      return;
    }
  }
  const text = kind === 'true' || kind === 'false' ? kind : member.text;
  builder.plain(name, type, text, units);
}

/** True when the member fills its fragment exactly, without escapes. */
function isBareFragment(member: MemberSource): boolean {
  return member.end - member.start === member.name.length + 3 + valueCharacters(member);
}

/** The characters of a value without escapes. */
function valueCharacters({ kind, text }: MemberSource): number {
  if (kind === 'string') return text.length + 2;
  return kind === 'number' ? text.length : kind.length;
}

/** Longest text of an Int32, its sign included. */
const int32TextLengthMax = 11;

/** The value of a short integer; NaN for any other number. */
function wholeNumber(text: string): number {
  const { length } = text;
  if (length > int32TextLengthMax) return NaN;
  const negative = text.charCodeAt(0) === 0x2d;
  let value = 0;
  for (let index = negative ? 1 : 0; index < length; index++) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return NaN;
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}
