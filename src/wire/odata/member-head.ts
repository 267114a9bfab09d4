import { unreachable } from '../../base/invariant.js';
import { annotationLengths } from '../../model/bag/bag.js';
import { isPropertyName } from '../../model/edm/property-name.js';
import type { EdmType } from '../../model/edm/value.js';
import { edmTypeOf } from '../edm/literal.js';
import { readName } from './member-name.js';

/**
 * The text before the value of a member in a body without white space: `"name":`, with an
 * annotation `"name@odata.type":"type","name":`.
 */
export interface MemberHead {
  /** The head itself, from its first quote through its colon. */
  readonly bytes: Uint8Array;
  readonly role: 'partition-key' | 'row-key' | 'property' | 'skipped';
  /** The type of the annotation, if there is one. */
  readonly type: EdmType | undefined;
  readonly name: NamedMember;
  /** Where the bag's fragment begins in the head: behind an annotation that bags do not write. */
  readonly fragmentOffset: number;
  readonly nameBytes: number;
  readonly annotationBytes: number;
  /** The head that last followed this one: bodies of one client tend to repeat themselves. */
  next: MemberHead | undefined;
  /** Another head of the same hash. */
  readonly sibling: MemberHead | undefined;
}

/** The parts that all heads of one name share. */
export interface NamedMember {
  /** The body in which the name was last seen. */
  body: number;
}

const quote = 0x22;
const colon = 0x3a;

/** Heads with a longer first text, `name` or `name@odata.type`, are not remembered. */
const longestFirstText = 80;
/** More than an annotated head with such a text takes. */
const longestHead = 256;
const bucketCount = 1024;

/**
 * The heads that bodies had before, found by their bytes. Heads are remembered when they come the
 * second time; when there are too many, all are forgotten.
 */
export class MemberHeads {
  readonly #buckets: (MemberHead | undefined)[] = Array.from({ length: bucketCount });
  /** The last hash without a head of each bucket. */
  readonly #unknown = new Int32Array(bucketCount);
  readonly #names = new Map<string, NamedMember>();
  readonly #capacity: number;
  #first: MemberHead | undefined;
  #count = 0;

  /** `capacity`: how many are remembered at once. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /**
   * The head that begins at an offset; undefined for what is no head or an unknown one. `before`:
   * that of the member before it in the body.
   */
  at(source: Buffer, start: number, before: MemberHead | undefined): MemberHead | undefined {
    const expected = before === undefined ? this.#first : before.next;
    if (expected !== undefined && stands(expected.bytes, source, start)) return expected;
    const found = this.#find(source, start);
    if (found === undefined) return undefined;
    if (before === undefined) this.#first = found;
    else before.next = found;
    return found;
  }

  #find(source: Buffer, start: number): MemberHead | undefined {
    if (source[start] !== quote) return undefined;
    let hash = 0;
    let at = start + 1;
    for (let byte = source[at] ?? 0; byte !== quote; byte = source[at] ?? 0) {
      if (byte === 0 || at - start > longestFirstText) return undefined;
      hash = (Math.imul(hash, 31) + byte) | 0;
      at += 1;
    }
    const bucket = (hash ^ (hash >>> 10)) & (bucketCount - 1);
    let head = this.#buckets[bucket];
    for (; head !== undefined; head = head.sibling) {
      if (stands(head.bytes, source, start)) return head;
    }
    if (this.#unknown[bucket] === hash) return this.#learn(source, start, at, bucket);
    this.#unknown[bucket] = hash;
    return undefined;
  }

  /** `textEnd`: the quote behind the first text. */
  #learn(source: Buffer, start: number, textEnd: number, bucket: number): MemberHead | undefined {
    const read = readHead(source, start, textEnd);
    if (read === undefined) return undefined;
    if (this.#count === this.#capacity) {
      // The names that this body had so far are forgotten too, so that a repeated name would go
      // unnoticed.
      this.#forget();
      return undefined;
    }
    const { name: text, length, ...form } = read;
    let name = this.#names.get(text);
    if (name === undefined) this.#names.set(text, (name = { body: 0 }));
    const bytes = Uint8Array.from(source.subarray(start, start + length));
    const head = { ...form, bytes, name, next: undefined, sibling: this.#buckets[bucket] };
    this.#buckets[bucket] = head;
    this.#count += 1;
    return head;
  }

  #forget(): void {
    this.#first = undefined;
    this.#buckets.fill(undefined);
    this.#names.clear();
    this.#count = 0;
  }
}

/** Whether bytes stand at an offset of a source. */
function stands(bytes: Uint8Array, source: Buffer, at: number): boolean {
  for (let index = 0; index < bytes.length; index += 1) {
    if (source[at + index] !== bytes[index]) return false;
  }
  return true;
}

interface ReadHead extends Omit<MemberHead, 'bytes' | 'name' | 'next' | 'sibling'> {
  readonly name: string;
  readonly length: number;
}

/** Reads a head whose first text ends at `textEnd`. */
function readHead(source: Buffer, start: number, textEnd: number): ReadHead | undefined {
  const firstText = source.toString('latin1', start + 1, textEnd);
  if (source[textEnd + 1] !== colon || !plain.test(firstText)) return undefined;
  const { text, role, target, legal } = readName(firstText);
  const length = textEnd + 2 - start;
  switch (role) {
    case 'member':
      return legal ? bareHead(text, length) : undefined;
    case 'annotation':
      return isPropertyName(target)
        ? annotatedHead(source.toString('latin1', start, start + longestHead), target)
        : undefined;
    case 'skipped':
      return { ...bareHead(text, length), role };
    case 'invalid':
      return undefined;
    default:
      return unreachable(role);
  }
}

function bareHead(name: string, length: number): ReadHead {
  const role = keyRoles.get(name) ?? 'property';
  const nameBytes = name.length;
  return { name, length, role, type: undefined, fragmentOffset: 0, nameBytes, annotationBytes: 0 };
}

/** An annotation and the name of its member. Annotations of keys have no meaning. */
function annotatedHead(text: string, name: string): ReadHead | undefined {
  const [, typeText = ''] = annotated.exec(text) ?? [];
  const type = edmTypeOf(typeText);
  const annotation = `"${name}@odata.type":"${typeText}",`;
  const isFollowed = text.startsWith(`${annotation}"${name}":`);
  if (type === undefined || !isFollowed || keyRoles.has(name)) return undefined;
  const bare = bareHead(name, annotation.length + name.length + 3);
  if (annotationLengths[type] === 0) return { ...bare, type, fragmentOffset: annotation.length };
  return { ...bare, type, annotationBytes: annotation.length };
}

/** ASCII that JSON neither escapes nor forbids. */
const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

const annotated = /^"[^"]*":"([^"]*)"/;

const keyRoles: ReadonlyMap<string, 'partition-key' | 'row-key'> = new Map([
  ['PartitionKey', 'partition-key'],
  ['RowKey', 'row-key'],
]);
