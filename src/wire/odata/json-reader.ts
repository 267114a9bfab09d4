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
      if (value !== undefined) properties.push({ name: checkedName(member.name), value });
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
    if (name.startsWith(metadataPrefix) || name === 'Timestamp') {
      this.#lexer.skipValue();
    } else if (name.includes('@')) {
      this.#annotation(name);
    } else {
      this.#add(this.#readMember(name));
    }
  }

  #readMember(name: string): Member {
    const lexer = this.#lexer;
    let annotation: string | undefined;
    if (this.#nextName === name) {
      annotation = this.#nextType;
      this.#nextName = undefined;
    }
    switch (lexer.peek()) {
      case 0x22:
        return { name, kind: 'string', text: lexer.string(), annotation };
      case 0x74:
        lexer.word('true');
        return { name, kind: 'true', text: '', annotation };
      case 0x66:
        lexer.word('false');
        return { name, kind: 'false', text: '', annotation };
      case 0x6e:
        lexer.word('null');
        return { name, kind: 'null', text: '', annotation };
      default:
        return { name, kind: 'number', text: lexer.number(), annotation };
    }
  }

  #add(member: Member): void {
    if (this.#find(member.name) !== undefined) {
      throw new StorageError('DuplicatePropertiesSpecified');
    }
    const members = this.#members;
    members.push(member);
    if (this.#byName !== undefined) this.#byName.set(member.name, member);
    else if (members.length > linearSearchMax) {
      this.#byName = new Map(members.map((each) => [each.name, each]));
    }
  }

  #find(name: string): Member | undefined {
    if (this.#byName !== undefined) return this.#byName.get(name);
    for (const member of this.#members) {
      if (member.name === name) return member;
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
    const last = this.#members.at(-1);
    if (last !== undefined && last.name === target) {
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
      const member = this.#find(name);
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

function checkedName(name: string): string {
  if (name.length > propertyNameLengthMax) throw new StorageError('PropertyNameTooLong');
  if (!isPropertyName(name)) throw new StorageError('PropertyNameInvalid');
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

/** Longest text of an Int32, its sign included. */
const int32TextLengthMax = 11;

/** A number without annotation: digits alone are Int32 where they fit; all else is Double. */
function plainNumber(text: string): EdmValue {
  if (text.length > int32TextLengthMax) return valueFromNumber('Edm.Double', text);
  const value = Number(text);
  return isInt32(value) && isWhole(text)
    ? { type: 'Edm.Int32', value: value | 0 }
    : valueFromNumber('Edm.Double', text);
}

function isWhole(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x39 || code === 0x2e) return false;
  }
  return true;
}
