import { unreachable } from '../../base/invariant.js';
import { BagBuilder } from '../../model/bag/bag.js';
import { edmTypeOf, malformedInput } from '../edm/literal.js';
import { propertyNameLengthMax } from '../../model/edm/limits.js';
import { cloudPropertyRules, type PropertyRules } from '../../model/edm/property-rules.js';
import type { EdmType, PropertyBag } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { JsonLexer } from './json-lexer.js';
import { markOf, NameMemory, type MemberName } from './member-name.js';
import { addMember, checkValue, type MemberSource } from './member-value.js';

/** The parsed body of a write. A key that is absent or null is undefined. */
export interface EntityBody {
  readonly partitionKey: string | undefined;
  readonly rowKey: string | undefined;
  /** In the order of the text, without null properties. */
  readonly properties: PropertyBag;
}

/** A member whose annotation may still follow. */
interface Member extends MemberSource {
  /** A cheap hash of the name, compared first. */
  readonly mark: number;
  /** True when properties may have the name, its length aside. */
  readonly legal: boolean;
  annotation: string | undefined;
}

/**
 * Reads an entity from the body of a write (table-service §2.4 and §2.5). Annotations may stand
 * before or after their members. Members `odata.*` and `Timestamp` are ignored; white space alone
 * is an entity without members. Any legal name is an ordinary one, `__proto__` too. Characters of
 * keys and sizes of values are not checked here. When the keys are those of the path, the body's
 * may have any type, and are undefined unless they are strings.
 *
 * Throws `InvalidInput` for malformed JSON and values that are not of their type, `OutOfRangeInput`
 * for dates, `DuplicatePropertiesSpecified`, `PropertyNameInvalid`, `PropertyNameTooLong` and
 * `TooManyProperties`.
 */
export function parseEntityBody(
  text: string,
  rules: PropertyRules = cloudPropertyRules,
  keysFrom: 'body' | 'path' = 'body',
): EntityBody {
  const members = new EntityReader(text, rules.countMax).read();
  builder.begin();
  const isCopied = builder.takeSource(text);
  let partitionKey: string | undefined;
  let rowKey: string | undefined;
  for (const member of members) {
    if (member.name === 'PartitionKey') partitionKey = keyOf(member, keysFrom);
    else if (member.name === 'RowKey') rowKey = keyOf(member, keysFrom);
    else addProperty(member, isCopied, rules);
  }
  return { partitionKey, rowKey, properties: builder.finish() };
}

const builder = new BagBuilder();

function addProperty(member: Member, isCopied: boolean, rules: PropertyRules): void {
  const type = annotatedType(member);
  if (member.kind === 'null') return;
  addMember(builder, member, type, isCopied);
  if (member.name.length > propertyNameLengthMax) throw new StorageError('PropertyNameTooLong');
  // A name that the strictest rule allows needs no further check.
  if (!member.legal && !rules.isName(member.name)) throw new StorageError('PropertyNameInvalid');
}

/**
 * Reads the name from the body of Create Table; undefined when it is absent or null. Other members
 * are ignored. Throws `InvalidInput` when the body is malformed or the name is not a string.
 */
export function parseTableBody(text: string): string | undefined {
  const members = new EntityReader(text, membersMax).read();
  const member = members.find(({ name }) => name === 'TableName');
  if (member === undefined || member.kind === 'null') return undefined;
  if (member.kind !== 'string') throw malformedInput();
  return member.text;
}

/**
 * The limit of members in a body, including null members and separate annotations. Far more than an
 * entity can hold: reading so many takes some milliseconds.
 */
const membersMax = 20_000;

/** Up to this many members, comparing names is faster than a set. */
const linearSearchMax = 16;

/** The kind of a value by its first character; any other character can only begin a number. */
function memberKind(code: number): Member['kind'] {
  switch (code) {
    case 0x22:
      return 'string';
    case 0x74:
      return 'true';
    case 0x66:
      return 'false';
    case 0x6e:
      return 'null';
    default:
      return 'number';
  }
}

const names = new NameMemory();

class EntityReader {
  readonly #lexer: JsonLexer;
  readonly #members: Member[] = [];
  /** A map of members by name, built when there are more than a few. */
  #byName: Map<string, Member> | undefined;
  /** The last annotation, while its member may follow directly, and its offset. */
  #nextName: string | undefined;
  #nextStart = 0;
  #nextType = '';
  /** Annotations that do not directly precede their members. */
  #loose: Map<string, string> | undefined;
  /** The number of properties that may still follow. */
  #propertiesLeft: number;

  /** Throws `TooManyProperties` at the first property beyond `propertiesMax` that is not null. */
  constructor(text: string, propertiesMax: number) {
    this.#lexer = new JsonLexer(text);
    this.#propertiesLeft = propertiesMax;
  }

  read(): readonly Member[] {
    const lexer = this.#lexer;
    if (lexer.peek() === -1) return this.#members;
    lexer.expect(0x7b);
    if (!lexer.accept(0x7d)) {
      let place = 0;
      do {
        const name = names.read(place++, lexer.string());
        lexer.expect(0x3a);
        this.#member(name);
      } while (lexer.accept(0x2c));
      lexer.expect(0x7d);
    }
    lexer.expectEnd();
    this.#attachLoose();
    return this.#members;
  }

  #member(name: MemberName): void {
    switch (name.role) {
      case 'member':
        this.#add(this.#readMember(name));
        return;
      case 'annotation':
        this.#annotation(name.target);
        return;
      case 'skipped':
        this.#lexer.skipValue();
        return;
      case 'invalid':
        throw new StorageError('PropertyNameInvalid');
      default:
        unreachable(name.role);
    }
  }

  #readMember({ text: name, legal, mark }: MemberName): Member {
    const lexer = this.#lexer;
    const start = lexer.stringStart;
    const isNext = this.#nextName === name;
    const annotation = isNext ? this.#nextType : undefined;
    const annotationStart = isNext ? this.#nextStart : -1;
    if (isNext) this.#nextName = undefined;
    const kind = memberKind(lexer.peek());
    const text = this.#scalar(kind);
    return {
      name,
      mark,
      legal,
      kind,
      text,
      annotation,
      annotationStart,
      start,
      end: lexer.offset,
    };
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
    this.#count(member);
    if (this.#byName !== undefined) this.#byName.set(member.name, member);
    else if (members.length > linearSearchMax) {
      this.#byName = new Map(members.map((each) => [each.name, each]));
    }
  }

  #count({ kind, name }: Member): void {
    if (kind !== 'null' && name !== 'PartitionKey' && name !== 'RowKey') this.#propertiesLeft -= 1;
    if (this.#propertiesLeft < 0 || this.#members.length > membersMax) {
      throw new StorageError('TooManyProperties');
    }
  }

  #find(name: string, mark: number): Member | undefined {
    if (this.#byName !== undefined) return this.#byName.get(name);
    for (const member of this.#members) {
      if (member.mark === mark && member.name === name) return member;
    }
    return undefined;
  }

  #annotation(target: string): void {
    const start = this.#lexer.stringStart;
    const type = this.#lexer.string();
    const last = this.#members[this.#members.length - 1];
    if (last?.name === target) {
      annotate(last, type);
      return;
    }
    this.#keepLoose();
    this.#nextName = target;
    this.#nextType = type;
    this.#nextStart = start;
  }

  #keepLoose(): void {
    if (this.#nextName === undefined) return;
    this.#loose ??= new Map();
    if (this.#loose.has(this.#nextName)) throw new StorageError('DuplicatePropertiesSpecified');
    if (this.#loose.size === membersMax) throw new StorageError('TooManyProperties');
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

function keyOf(member: Member, keysFrom: 'body' | 'path'): string | undefined {
  const type = annotatedType(member);
  if (type !== undefined && type !== 'Edm.String') {
    if (keysFrom === 'body') throw malformedInput();
    checkValue(member, type);
    return undefined;
  }
  if (member.kind === 'null') return undefined;
  if (member.kind !== 'string') throw malformedInput();
  return builder.ownText(member.text);
}
