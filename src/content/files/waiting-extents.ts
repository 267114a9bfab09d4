/** The numbers that share a group. */
const groupNumbers = 1024;
const byteBits = 8;

/** A bit for each number of a group. */
interface Group {
  readonly bits: Buffer;
  /** How many are set. */
  count: number;
}

/**
 * The extents of a session that wait for their commits, by number. Numbers grow, so those that wait
 * at the same time are close to each other: each takes little more than a bit.
 */
export class WaitingExtents {
  readonly #groups = new Map<number, Group>();

  #count = 0;

  get count(): number {
    return this.#count;
  }

  has(number: number): boolean {
    const { group, byte, bit } = bitOf(number);
    return ((this.#groups.get(group)?.bits[byte] ?? 0) & bit) !== 0;
  }

  /** In no particular order. */
  *numbers(): Generator<number, void, void> {
    for (const [group, { bits }] of this.#groups) {
      for (let at = 0; at < groupNumbers; at += 1) {
        const number = group * groupNumbers + at;
        const { byte, bit } = bitOf(number);
        if (((bits[byte] ?? 0) & bit) !== 0) yield number;
      }
    }
  }

  begin(number: number): void {
    if (this.has(number)) return;
    const { group, byte, bit } = bitOf(number);
    const found = this.#groups.get(group) ?? {
      bits: Buffer.alloc(groupNumbers / byteBits),
      count: 0,
    };
    this.#groups.set(group, found);
    found.bits[byte] = (found.bits[byte] ?? 0) | bit;
    found.count += 1;
    this.#count += 1;
  }

  /** Ignores a number that does not wait. */
  end(number: number): void {
    const { group, byte, bit } = bitOf(number);
    const found = this.#groups.get(group);
    if (found === undefined || !this.has(number)) return;
    found.bits[byte] = (found.bits[byte] ?? 0) & ~bit;
    found.count -= 1;
    this.#count -= 1;
    if (found.count === 0) this.#groups.delete(group);
  }
}

/** Where a number has its bit. */
function bitOf(number: number): { group: number; byte: number; bit: number } {
  const rest = number % groupNumbers;
  const group = Math.floor(number / groupNumbers);
  return { group, byte: Math.floor(rest / byteBits), bit: 1 << (rest % byteBits) };
}
