import type { ByteRange } from '../../base/byte-range.js';
import { unreachable } from '../../base/invariant.js';
import { propertyTags } from '../../model/bag/bag.js';
import {
  base64Bytes,
  base64End,
  dateTimeEnd,
  decimalEnd,
  guidEnd,
  int32End,
  int64End,
  needlessFraction,
} from '../../model/bag/canonical-text.js';
import { CopiedBag } from '../../model/bag/copied-bag.js';
import { binarySize, fixedSizes, stringSize } from '../../model/edm/entity-size.js';
import { propertiesMax, stringLengthMax } from '../../model/edm/limits.js';
import { PlainStrings } from '../../model/bag/plain-strings.js';
import { cloudPropertyRules, type PropertyRules } from '../../model/edm/property-rules.js';
import type { EdmType } from '../../model/edm/value.js';
import type { EntityBody } from './json-reader.js';
import { MemberHeads, type MemberHead } from './member-head.js';

/**
 * The memory for a body and a zero behind it. Longer bodies are rare, and are left to
 * `parseEntityBody`. No binary value in it is over its limit.
 */
const sourceBytes = 64 * 1024;

/** Different names and annotations that the clients of a process use at once; far more are rare. */
const rememberedHeads = 2048;

const quote = 0x22;
const comma = 0x2c;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/**
 * Reads an entity from a body that spells it as a bag does: no white space, no escapes, each
 * annotation before its member, each value in its canonical text (zeros at the end of a date's
 * fraction aside). That is what clients write. Its properties are copied from the body in one
 * piece. The bytes are valid UTF-8.
 *
 * Returns what `parseEntityBody` returns, or undefined for any other body, valid or not: only
 * `parseEntityBody` throws errors.
 */
export function readCanonicalBody(
  { bytes, start, end }: ByteRange,
  { countMax }: Pick<PropertyRules, 'countMax'> = cloudPropertyRules,
): EntityBody | undefined {
  if (end - start >= sourceBytes) return undefined;
  return reader.read(bytes, start, end, Math.min(countMax, propertiesMax));
}

class CanonicalBodyReader {
  /** The body, then a zero. A copy, so that the loops always read memory of one kind. */
  readonly #source = Buffer.alloc(sourceBytes);
  readonly #strings = new PlainStrings(this.#source);
  readonly #heads = new MemberHeads(rememberedHeads);
  readonly #bag = new CopiedBag(propertiesMax);
  #countMax = 0;
  /** The number of the body: marks the names that it had. */
  #body = 0;
  #partitionKey: string | undefined;
  #rowKey: string | undefined;

  read(bytes: Buffer, start: number, end: number, countMax: number): EntityBody | undefined {
    bytes.copy(this.#source, 0, start, end);
    this.#source[end - start] = 0;
    this.#body = (this.#body + 1) | 0;
    this.#countMax = countMax;
    this.#partitionKey = undefined;
    this.#rowKey = undefined;
    this.#bag.begin();
    if (this.#source[0] !== openingBrace || this.#membersEnd() !== end - start) return undefined;
    const properties = this.#bag.finish(this.#source);
    return { partitionKey: this.#partitionKey, rowKey: this.#rowKey, properties };
  }

  /** The offset behind the closing brace. This and all that follow return -1 to give up. */
  #membersEnd(): number {
    const source = this.#source;
    let head: MemberHead | undefined;
    let at = 0;
    do {
      const start = at + 1;
      head = this.#heads.at(source, start, head);
      if (head === undefined || !this.#isFirst(head)) return -1;
      at = this.#valueEnd(head, start, start + head.bytes.length);
    } while (source[at] === comma);
    return source[at] === closingBrace ? at + 1 : -1;
  }

  /** Marks a name. False when the body had it before, which is allowed of metadata alone. */
  #isFirst({ role, name }: MemberHead): boolean {
    const isFirst = name.body !== this.#body;
    name.body = this.#body;
    return isFirst || role === 'skipped';
  }

  #valueEnd(head: MemberHead, start: number, at: number): number {
    switch (head.role) {
      case 'property':
        return this.#propertyEnd(head, start + head.fragmentOffset, at);
      case 'partition-key':
      case 'row-key':
        return this.#keyEnd(head.role, at);
      case 'skipped':
        return this.#stringEnd(at);
      default:
        return unreachable(head.role);
    }
  }

  #keyEnd(role: 'partition-key' | 'row-key', at: number): number {
    const end = this.#stringEnd(at);
    if (end === -1) return -1;
    const text = this.#strings.text(at + 1, end - 1);
    if (role === 'row-key') this.#rowKey = text;
    else this.#partitionKey = text;
    return end;
  }

  /** The offset behind the closing quote of a string. */
  #stringEnd(at: number): number {
    const end = this.#source[at] === quote ? this.#strings.end(at + 1) : -1;
    return end === -1 ? -1 : end + 1;
  }

  /** `start`: the property's fragment, `at`: its value. */
  #propertyEnd(head: MemberHead, start: number, at: number): number {
    const first = this.#source[at] ?? 0;
    if (first === 0x6e) return this.#wordEnd(at, 'null');
    if (head.type !== undefined) return this.#typedEnd(head, head.type, start, at);
    if (first === quote) return this.#typedEnd(head, 'Edm.String', start, at);
    if (first === 0x74 || first === 0x66) return this.#typedEnd(head, 'Edm.Boolean', start, at);
    const end = this.#typedEnd(head, 'Edm.Double', start, at);
    return end === -1 ? this.#typedEnd(head, 'Edm.Int32', start, at) : end;
  }

  #typedEnd(head: MemberHead, type: EdmType, start: number, at: number): number {
    const source = this.#source;
    switch (type) {
      case 'Edm.String': {
        const end = this.#stringEnd(at);
        if (this.#strings.units > stringLengthMax) return -1;
        return this.#add(head, propertyTags.string, start, end, stringSize(this.#strings.units));
      }
      case 'Edm.Int32':
        return this.#addFixed(head, type, start, int32End(source, at));
      case 'Edm.Double':
        return this.#addFixed(head, type, start, decimalEnd(source, at));
      case 'Edm.Boolean':
        return this.#addFixed(head, type, start, this.#booleanEnd(at));
      case 'Edm.Int64':
        return this.#addFixed(head, type, start, this.#quotedEnd(at, int64End(source, at + 1)));
      case 'Edm.DateTime': {
        const end = this.#quotedEnd(at, dateTimeEnd(source, at + 1));
        return this.#addFixed(head, type, this.#withoutZeros(start, at, end), end);
      }
      case 'Edm.Guid':
        return this.#addFixed(head, type, start, this.#quotedEnd(at, guidEnd(source, at + 1)));
      case 'Edm.Binary': {
        const end = this.#quotedEnd(at, base64End(source, at + 1));
        const size = binarySize(base64Bytes(source, at + 1, end - 1));
        return this.#add(head, propertyTags.binary, start, end, size);
      }
      default:
        return unreachable(type);
    }
  }

  /** Drops zeros from the end of a date's fraction; where its fragment begins then. */
  #withoutZeros(start: number, at: number, end: number): number {
    const needless = end === -1 ? 0 : needlessFraction(this.#source, at + 1, end - 1);
    if (needless > 0) this.#source.copyWithin(start + needless, start, end - 2 - needless);
    return start + needless;
  }

  /** The offset behind the quotes around a value that ends at `end`. */
  #quotedEnd(at: number, end: number): number {
    if (end === -1) return -1;
    return this.#source[at] === quote && this.#source[end] === quote ? end + 1 : -1;
  }

  #booleanEnd(at: number): number {
    return this.#wordEnd(at, this.#source[at] === 0x74 ? 'true' : 'false');
  }

  #wordEnd(at: number, word: 'true' | 'false' | 'null'): number {
    for (let index = 0; index < word.length; index += 1) {
      if (this.#source[at + index] !== word.charCodeAt(index)) return -1;
    }
    return at + word.length;
  }

  #addFixed(head: MemberHead, type: keyof typeof fixedTags, start: number, end: number): number {
    return this.#add(head, fixedTags[type], start, end, fixedSizes[type]);
  }

  #add(head: MemberHead, tag: number, start: number, end: number, valueSize: number): number {
    if (end === -1 || this.#bag.count === this.#countMax) return -1;
    this.#bag.add(head, tag, start, end, valueSize);
    return end;
  }
}

const fixedTags = {
  'Edm.Int32': propertyTags.int32,
  'Edm.Int64': propertyTags.int64,
  'Edm.Double': propertyTags.double,
  'Edm.Boolean': propertyTags.boolean,
  'Edm.DateTime': propertyTags.dateTime,
  'Edm.Guid': propertyTags.guid,
} as const;

const reader = new CanonicalBodyReader();
