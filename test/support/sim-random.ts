/** A repeatable stream of random choices: the same on every machine for the same seed. */
export class SimRandom {
  #a: number;
  #b = 0x9e3779b9;
  #c = 0x243f6a88;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    for (let round = 0; round < 15; round += 1) this.#bits();
  }

  /** From 0 to below - 1. */
  int(below: number): number {
    return Math.floor((this.#bits() / 2 ** 32) * below);
  }

  /** From `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.int(to - from + 1);
  }

  chance(probability: number): boolean {
    return this.#bits() / 2 ** 32 < probability;
  }

  pick<T>(from: readonly T[]): T {
    const index = this.int(from.length);
    if (index >= from.length) throw new Error('nothing to pick from');
    return from[index] as T;
  }

  /** One of the names, with a probability by its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.int(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [name, weight] of entries) {
      if (left < weight) return name;
      left -= weight;
    }
    throw new Error('no weights to choose by');
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.int(256)));
  }

  uuid(): string {
    const hex = this.bytes(16).toString('hex');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }

  /** sfc32: small, fast, and passes the usual test batteries. */
  #bits(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}
