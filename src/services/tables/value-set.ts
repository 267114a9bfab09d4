import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { fragmentEnd, propertyTag, propertyTags, valueStart } from '../../model/bag/bag.js';
import type { EdmValue } from '../../model/edm/value.js';
import type { PropertyTest } from './value-comparison.js';
import { doubleAt, int32At, tagOf, valueBytes } from './value-order.js';

/**
 * True when a stored property equals one of the literals, by the rules of `eq`. One set lookup,
 * whatever the number of literals.
 */
export function membershipTest(literals: readonly EdmValue[]): PropertyTest {
  const texts = new Map<number, TextSet>();
  const int32s = new Set<number>();
  const doubles = new Set<number>();
  const addText = (tag: number, text: string): void => {
    const set = texts.get(tag) ?? new TextSet();
    texts.set(tag, set);
    set.add(text);
  };
  for (const literal of literals) addLiteral(literal, { int32s, doubles, addText });
  return (bag, at) => {
    const tag = propertyTag(bag, at);
    if (tag === propertyTags.int32) return int32s.has(int32At(bag, at));
    if (tag === propertyTags.double) return doubles.has(doubleAt(bag, at));
    return texts.get(tag)?.has(bag, at) ?? false;
  };
}

interface Sets {
  readonly int32s: Set<number>;
  readonly doubles: Set<number>;
  readonly addText: (tag: number, text: string) => void;
}

/** How bags write an Int64. */
function quoted(value: number | bigint): string {
  return `"${value}"`;
}

/** Adds a literal under all numeric types that may equal it. */
function addLiteral(literal: EdmValue, { int32s, doubles, addText }: Sets): void {
  switch (literal.type) {
    case 'Edm.Int32':
      int32s.add(literal.value);
      doubles.add(literal.value);
      addText(propertyTags.int64, quoted(literal.value));
      return;
    case 'Edm.Int64':
      doubles.add(Number(literal.value));
      addText(propertyTags.int64, quoted(literal.value));
      return;
    case 'Edm.Double':
      // A set would find NaN, which equals nothing.
      if (!Number.isNaN(literal.value)) doubles.add(literal.value);
      return;
    case 'Edm.String':
    case 'Edm.Boolean':
    case 'Edm.DateTime':
    case 'Edm.Guid':
    case 'Edm.Binary':
      addText(tagOf(literal.type), nameOfBytes(valueBytes(literal)));
      return;
    default:
      unreachable(literal);
  }
}

/** Stored texts of one type; each value has one text. */
class TextSet {
  readonly #texts = new Set<string>();
  readonly #lengths = new Set<number>();

  /** The bytes of a stored value as Latin-1 characters. */
  add(text: string): void {
    this.#texts.add(text);
    this.#lengths.add(text.length);
  }

  has(bag: Bytes, at: number): boolean {
    const start = valueStart(bag, at);
    const end = fragmentEnd(bag, at);
    // Copies only a text with the length of a literal.
    return this.#lengths.has(end - start) && this.#texts.has(nameOfBytes(bag, start, end));
  }
}
