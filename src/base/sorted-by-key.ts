import type { Bytes } from './bytes.js';
import { nameOfBytes } from './bytes.js';

/** Elements in one chunk, at most: a full one is cut in half. */
const chunkElementsMax = 512;
/** A chunk that is filled at once gets this many elements, so that others fit in. */
const filledElements = chunkElementsMax / 2;

export interface Keyed {
  readonly key: Bytes;
}

/** `start` is included, `end` is not. An absent end is behind every key. */
interface Bounds {
  readonly start: Bytes;
  readonly end?: Bytes;
}

/** The index of a chunk, and of an element in it. */
interface Position {
  readonly chunk: number;
  readonly element: number;
}

/**
 * Only the collection that holds this owner token may change the chunk; others share it. `names`
 * holds the keys as texts, which sort alike and compare several times faster.
 */
interface Chunk<Element> {
  readonly owner: object;
  readonly names: string[];
  readonly elements: Element[];
}

/**
 * A list of elements in key order, stored as short sorted arrays. A lookup costs two binary
 * searches; a put moves at most one chunk, and rarely the list of chunks. Only the last remaining
 * chunk may be empty. A copy shares all chunks until one side changes them (copy on write).
 */
export class SortedByKey<Element extends Keyed> {
  #owner = {};
  #chunks: Chunk<Element>[];
  #isShared: boolean;

  constructor(shared?: Chunk<Element>[]) {
    this.#chunks = shared ?? [this.#chunkOf([], [])];
    this.#isShared = shared !== undefined;
  }

  /** Makes a list of elements by the names of their keys, faster than adding one by one. */
  static ofNamed<Element extends Keyed>(named: ReadonlyMap<string, Element>): SortedByKey<Element> {
    const names = Array.from(named.keys()).toSorted();
    const sorted = new SortedByKey<Element>();
    if (names.length > 0) sorted.#chunks = [];
    for (let at = 0; at < names.length; at += filledElements) {
      const own = names.slice(at, at + filledElements);
      const elements: Element[] = [];
      for (const name of own) {
        const element = named.get(name);
        if (element !== undefined) elements.push(element);
      }
      sorted.#chunks.push(sorted.#chunkOf(own, elements));
    }
    return sorted;
  }

  get size(): number {
    return this.#chunks.reduce((sum, { elements }) => sum + elements.length, 0);
  }

  get isEmpty(): boolean {
    return this.#chunks[0]?.elements.length === 0;
  }

  /** A copy that changes independently. Takes constant time. */
  copy(): SortedByKey<Element> {
    this.keepViews();
    return this.view();
  }

  /**
   * A view of the present elements. It remains valid only if `keepViews` is called before this
   * collection changes again. It costs nothing until the collection changes.
   */
  view(): SortedByKey<Element> {
    return new SortedByKey(this.#chunks);
  }

  /** From now on, changes do not affect existing views. */
  keepViews(): void {
    // Both sides now share the chunks, so neither may change them in place.
    this.#owner = {};
    this.#isShared = true;
  }

  get(key: Bytes): Element | undefined {
    return this.named(nameOfBytes(key));
  }

  /** The element whose key has this name. */
  named(name: string): Element | undefined {
    const { chunk, element } = this.#seek(name);
    const found = this.#chunks[chunk];
    return found?.names[element] === name ? found.elements[element] : undefined;
  }

  /** Returns the replaced element. `name`: that of its key, where the caller has it. */
  put(put: Element, name = nameOfBytes(put.key)): Element | undefined {
    const position = this.#seek(name);
    const chunk = this.#own(position.chunk);
    const { names, elements } = chunk;
    if (names[position.element] === name) {
      const before = elements[position.element];
      elements[position.element] = put;
      return before;
    }
    names.splice(position.element, 0, name);
    elements.splice(position.element, 0, put);
    if (elements.length > chunkElementsMax) this.#cut(position, chunk);
    return undefined;
  }

  /** Returns the deleted element. */
  delete(key: Bytes, name = nameOfBytes(key)): Element | undefined {
    const position = this.#seek(name);
    if (this.#chunks[position.chunk]?.names[position.element] !== name) return undefined;
    const { names, elements } = this.#own(position.chunk);
    names.splice(position.element, 1);
    const [found] = elements.splice(position.element, 1);
    if (elements.length === 0 && this.#chunks.length > 1) this.#chunks.splice(position.chunk, 1);
    return found;
  }

  /**
   * Deletes the given elements that are still present, and returns them. The elements are in key
   * order, so that each chunk is changed once.
   */
  deleteEach(elements: readonly Element[]): readonly Element[] {
    const deleted: Element[] = [];
    let at = 0;
    for (let next = elements[at]; next !== undefined; next = elements[at]) {
      const position = this.#seek(nameOfBytes(next.key));
      // At least the sought element is passed, whether it was found or not.
      at = Math.max(at + 1, this.#deleteFromChunk(position, elements, at, deleted));
    }
    return deleted;
  }

  /** The elements of a range in order. The collection must not change during the iteration. */
  *forward({ start, end }: Bounds): Generator<Element, void, void> {
    const last = end && nameOfBytes(end);
    let { chunk, element } = this.#seek(nameOfBytes(start));
    for (; chunk < this.#chunks.length; chunk += 1, element = 0) {
      const { names, elements } = this.#chunks[chunk] ?? none;
      for (; element < elements.length; element += 1) {
        const found = elements[element];
        if (found === undefined || (last !== undefined && (names[element] ?? '') >= last)) return;
        yield found;
      }
    }
  }

  /**
   * The elements of a range in reverse order. The collection must not change during the iteration.
   */
  *backward({ start, end }: Bounds): Generator<Element, void, void> {
    const first = nameOfBytes(start);
    let { chunk, element } = end === undefined ? this.#end() : this.#seek(nameOfBytes(end));
    while (chunk >= 0) {
      const { names, elements } = this.#chunks[chunk] ?? none;
      for (element -= 1; element >= 0; element -= 1) {
        const found = elements[element];
        if (found === undefined || (names[element] ?? '') < first) return;
        yield found;
      }
      chunk -= 1;
      element = this.#chunks[chunk]?.elements.length ?? 0;
    }
  }

  /** Returns which of the elements comes after what the chunk holds. */
  #deleteFromChunk(
    position: Position,
    elements: readonly Element[],
    from: number,
    deleted: Element[],
  ): number {
    const chunk = this.#own(position.chunk);
    const keptNames: string[] = [];
    const kept: Element[] = [];
    let [at, passed] = [from, position.element];
    for (; passed < chunk.elements.length && at < elements.length;) {
      const [found, sought] = [chunk.elements[passed], elements[at]];
      const name = chunk.names[passed];
      if (found === undefined || sought === undefined || name === undefined) break;
      if (found === sought) {
        deleted.push(found);
        at += 1;
        passed += 1;
      } else if (name < nameOfBytes(sought.key)) {
        keptNames.push(name);
        kept.push(found);
        passed += 1;
      } else at += 1;
    }
    chunk.names.splice(position.element, passed - position.element, ...keptNames);
    chunk.elements.splice(position.element, passed - position.element, ...kept);
    if (chunk.elements.length === 0 && this.#chunks.length > 1)
      this.#chunks.splice(position.chunk, 1);
    return at;
  }

  #chunkOf(names: string[], elements: Element[]): Chunk<Element> {
    return { owner: this.#owner, names, elements };
  }

  /**
   * Splits a full chunk. Keys often arrive in order; a split near the end then leaves full chunks.
   */
  #cut({ chunk, element }: Position, { names, elements }: Chunk<Element>): void {
    const inOrder = element === elements.length - 1;
    const at = inOrder ? elements.length - 1 : elements.length >> 1;
    this.#chunks.splice(chunk + 1, 0, this.#chunkOf(names.splice(at), elements.splice(at)));
  }

  /** A chunk that this collection may change; copies a shared one. */
  #own(index: number): Chunk<Element> {
    if (this.#isShared) {
      this.#chunks = this.#chunks.slice();
      this.#isShared = false;
    }
    const found = this.#chunks[index];
    if (found !== undefined && found.owner === this.#owner) return found;
    const own = this.#chunkOf(found?.names.slice() ?? [], found?.elements.slice() ?? []);
    this.#chunks[index] = own;
    return own;
  }

  /** The position of the first element at or after a key: also where the key would be inserted. */
  #seek(name: string): Position {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#chunks[middle]?.names[0];
      if (first !== undefined && first <= name) low = middle;
      else high = middle - 1;
    }
    return { chunk: low, element: firstAtOrAfter(this.#chunks[low]?.names ?? [], name) };
  }

  #end(): Position {
    const chunk = this.#chunks.length - 1;
    return { chunk, element: this.#chunks[chunk]?.elements.length ?? 0 };
  }
}

const none = { names: [], elements: [] } as const;

function firstAtOrAfter(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = names[middle];
    if (found !== undefined && found < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
