import {
  edmTypeOf,
  isInt32,
  malformedInput,
  valueFromNumber,
  valueFromText,
} from '../edm/literal.js';
import { propertiesMax, propertyNameLengthMax } from '../edm/limits.js';
import { isPropertyName } from '../edm/property-name.js';
import type { EdmType, EdmValue, Property } from '../edm/value.js';
import { StorageError } from '../errors/storage-error.js';
import { JsonLexer } from './json-lexer.js';

/** What the body of a write says. A key that is absent or null is undefined. */
export interface EntityBody {
  readonly partitionKey: string | undefined;
  readonly rowKey: string | undefined;
  /** In the order of the text, without those that are null. */
  readonly properties: readonly Property[];
}

/** A member whose annotation may not have been seen yet. */
interface Member {
  readonly name: string;
  /** Differs for most names that differ, and is compared first. */
  readonly mark: number;
  /** Whether the name is one that a property may have, its length aside. */
  readonly legal: boolean;
  readonly kind: 'string' | 'number' | 'true' | 'false' | 'null';
  /** The string's content or the number's digits. */
  readonly text: string;
  annotation: string | undefined;
}

/**
 * Reads an entity from the body of a write (spec table-service §2.4 and §2.5). Annotations may
 * stand before or behind what they annotate. Members `odata.*` and `Timestamp` are ignored; a text
 * of white space is an entity without members. Any legal name is an ordinary one, `__proto__` too.
 * Characters of keys and sizes of values are not judged here.
 *
 * Throws `InvalidInput` for malformed JSON and values that are not of their type,
 * `OutOfRangeInput` for dates, `DuplicatePropertiesSpecified`, `PropertyNameInvalid`,
 * `PropertyNameTooLong` and `TooManyProperties`.
 */
export function parseEntityBody(text: string): EntityBody {
  const members = new EntityReader(text).read();
  let partitionKey: string | undefined;
  let rowKey: string | undefined;
  const properties: Property[] = [];
  for (const member of members) {
    if (member.name === 'PartitionKey') partitionKey = keyOf(member);
    else if (member.name === 'RowKey') rowKey = keyOf(member);
    else {
      const value = valueOf(member);
      if (value !== undefined) properties.push({ name: checkedName(member), value });
    }
  }
  if (properties.length > propertiesMax) throw new StorageError('TooManyProperties');
  return { partitionKey, rowKey, properties };
}

/**
 * Reads the name from the body of Create Table; undefined when it is absent or null. Other members
 * are ignored. Throws `InvalidInput` when the body is malformed or the name is not a string.
 */
export function parseTableBody(text: string): string | undefined {
  const members = new EntityReader(text).read();
  const member = members.find(({ name }) => name === 'TableName');
  if (member === undefined || member.kind === 'null') return undefined;
  if (member.kind !== 'string') throw malformedInput();
  return member.text;
}

const annotationSuffix = '@odata.type';
const metadataPrefix = 'odata.';

/** Up to this many members, comparing names beats a set of them. */
const linearSearchMax = 16;

/** What a value is by its first character; all others can only begin a number. */
const memberKinds: ReadonlyMap<number, Member['kind']> = new Map<number, Member['kind']>([
  [0x22, 'string'],
  [0x74, 'true'],
  [0x66, 'false'],
  [0x6e, 'null'],
]);

function markOf(name: string): number {
  const { length } = name;
  return (length << 16) ^ (name.charCodeAt(length - 1) << 8) ^ name.charCodeAt(length >> 1);
}

class EntityReader {
  readonly #lexer: JsonLexer;
  readonly #members: Member[] = [];
  /** Every member by name, from the moment there are more than a few. */
  #byName: Map<string, Member> | undefined;
  /** The annotation read last, while its member is expected to follow. */
  #nextName: string | undefined;
  #nextType = '';
  /** Annotations that stand apart from their members. */
  #loose: Map<string, string> | undefined;

  constructor(text: string) {
    this.#lexer = new JsonLexer(text);
  }

  read(): readonly Member[] {
    const lexer = this.#lexer;
    if (lexer.peek() === -1) return this.#members;
    lexer.expect(0x7b);
    if (!lexer.accept(0x7d)) {
      do {
        const name = lexer.string();
        lexer.expect(0x3a);
        this.#member(name);
      } while (lexer.accept(0x2c));
      lexer.expect(0x7d);
    }
    lexer.expectEnd();
    this.#attachLoose();
    return this.#members;
  }

  #member(name: string): void {
    // Metadata and annotations hold a dot or an at sign, so no legal name is either.
    const legal = isPropertyName(name);
    if (legal ? name === 'Timestamp' : name.startsWith(metadataPrefix)) {
      this.#lexer.skipValue();
    } else if (!legal && name.includes('@')) {
      this.#annotation(name);
    } else {
      this.#add(this.#readMember(name, legal));
    }
  }

  #readMember(name: string, legal: boolean): Member {
    const annotation = this.#nextName === name ? this.#nextType : undefined;
    if (annotation !== undefined) this.#nextName = undefined;
    const kind = memberKinds.get(this.#lexer.peek()) ?? 'number';
    return { name, mark: markOf(name), legal, kind, text: this.#scalar(kind), annotation };
  }

  #scalar(kind: Member['kind']): string {
    switch (kind) {
      case 'string':
        return this.#lexer.string();
      case 'number':
        return this.#lexer.number();
      default:
        this.#lexer.word(kind);
        return '';
    }
  }

  #add(member: Member): void {
    if (this.#find(member.name, member.mark) !== undefined) {
      throw new StorageError('DuplicatePropertiesSpecified');
    }
    const members = this.#members;
    members.push(member);
    if (this.#byName !== undefined) this.#byName.set(member.name, member);
    else if (members.length > linearSearchMax) {
      this.#byName = new Map(members.map((each) => [each.name, each]));
    }
  }

  #find(name: string, mark: number): Member | undefined {
    if (this.#byName !== undefined) return this.#byName.get(name);
    for (const member of this.#members) {
      if (member.mark === mark && member.name === name) return member;
    }
    return undefined;
  }

  #annotation(name: string): void {
    if (!name.endsWith(annotationSuffix)) {
      if (!name.includes('@odata.')) throw new StorageError('PropertyNameInvalid');
      this.#lexer.skipValue();
      return;
    }
    const target = name.slice(0, -annotationSuffix.length);
    if (target === 'Timestamp' || target.startsWith(metadataPrefix)) {
      this.#lexer.skipValue();
      return;
    }
    const type = this.#lexer.string();
    const last = this.#members[this.#members.length - 1];
    if (last?.name === target) {
      annotate(last, type);
      return;
    }
    this.#keepLoose();
    this.#nextName = target;
    this.#nextType = type;
  }

  #keepLoose(): void {
    if (this.#nextName === undefined) return;
    this.#loose ??= new Map();
    if (this.#loose.has(this.#nextName)) throw new StorageError('DuplicatePropertiesSpecified');
    this.#loose.set(this.#nextName, this.#nextType);
    this.#nextName = undefined;
  }

  /** Annotations of properties that the body does not have are ignored. */
  #attachLoose(): void {
    this.#keepLoose();
    if (this.#loose === undefined) return;
    for (const [name, type] of this.#loose) {
      const member = this.#find(name, markOf(name));
      if (member !== undefined) annotate(member, type);
    }
  }
}

function annotate(member: Member, type: string): void {
  if (member.annotation !== undefined) throw new StorageError('DuplicatePropertiesSpecified');
  member.annotation = type;
}

function annotatedType(member: Member): EdmType | undefined {
  if (member.annotation === undefined) return undefined;
  const type = edmTypeOf(member.annotation);
  if (type === undefined) throw malformedInput();
  return type;
}

function keyOf(member: Member): string | undefined {
  const type = annotatedType(member);
  if (type !== undefined && type !== 'Edm.String') throw malformedInput();
  if (member.kind === 'null') return undefined;
  if (member.kind !== 'string') throw malformedInput();
  return member.text;
}

function checkedName({ name, legal }: Member): string {
  if (name.length > propertyNameLengthMax) throw new StorageError('PropertyNameTooLong');
  if (!legal) throw new StorageError('PropertyNameInvalid');
  return name;
}

/** The value of a member; undefined for null. */
function valueOf(member: Member): EdmValue | undefined {
  const type = annotatedType(member);
  switch (member.kind) {
    case 'null':
      return undefined;
    case 'string':
      return valueFromText(type ?? 'Edm.String', member.text, member.name);
    case 'number':
      return type === undefined ? plainNumber(member.text) : valueFromNumber(type, member.text);
    default:
      if (type !== undefined && type !== 'Edm.Boolean') throw malformedInput();
      return { type: 'Edm.Boolean', value: member.kind === 'true' };
  }
}

/** A number without annotation: digits alone are Int32 where they fit; all else is Double. */
function plainNumber(text: string): EdmValue {
  const value = wholeNumber(text);
  return isInt32(value)
    ? { type: 'Edm.Int32', value: value | 0 }
    : valueFromNumber('Edm.Double', text);
}

/** Longest text of an Int32, its sign included. */
const int32TextLengthMax = 11;

/** The value of a short number without fraction and exponent; NaN for any other. */
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
