import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { TupleElement } from '../../kv/tuple.js';

/** Reads the elements of a stored record one after the other. */
export class ElementReader {
  readonly elements: readonly TupleElement[];
  /** The index of the next element. */
  at: number;

  constructor(elements: readonly TupleElement[], at = 0) {
    this.elements = elements;
    this.at = at;
  }

  element(): TupleElement {
    const element = this.elements[this.at];
    invariant(element !== undefined, 'a stored record ends too early');
    this.at += 1;
    return element;
  }

  number(): number {
    const element = this.element();
    invariant(typeof element === 'number', 'a stored record has a number here');
    return element;
  }

  text(): string {
    const element = this.element();
    invariant(typeof element === 'string', 'a stored record has a text here');
    return element;
  }

  bytes(): Bytes {
    const element = this.element();
    invariant(typeof element === 'object', 'a stored record has bytes here');
    return element;
  }

  /** A count, then that many pairs of texts. */
  pairs(): (readonly [string, string])[] {
    const pairs: (readonly [string, string])[] = [];
    for (let left = this.number(); left > 0; left -= 1) pairs.push([this.text(), this.text()]);
    return pairs;
  }
}
