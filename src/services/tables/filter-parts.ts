import { unreachable } from '../../base/invariant.js';
import type { Filter } from '../../model/edm/filter.js';
import type { EdmValue } from '../../model/edm/value.js';

/** Numbers the distinct parts of a filter; equal parts have the same number. */
export class FilterParts {
  readonly #numbers = new Map<string, number>();
  readonly #uses = new Map<number, number>();
  readonly #known = new Map<Filter, number>();

  constructor(filter: Filter) {
    this.#count(filter);
  }

  /** Equal parts have the same number, in whatever order their operands are. */
  numberOf(part: Filter): number {
    return this.#known.get(part) ?? this.#count(part);
  }

  /** True when the part occurs several times. */
  isShared(part: Filter): boolean {
    return (this.#uses.get(this.numberOf(part)) ?? 0) > 1;
  }

  /** The operands without duplicates. */
  distinct(operands: readonly Filter[]): readonly Filter[] {
    const seen = new Set<number>();
    return operands.filter((operand) => {
      const number = this.numberOf(operand);
      if (seen.has(number)) return false;
      seen.add(number);
      return true;
    });
  }

  #count(part: Filter): number {
    const text = this.#textOf(part);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#uses.set(number, (this.#uses.get(number) ?? 0) + 1);
    this.#known.set(part, number);
    return number;
  }

  #textOf(part: Filter): string {
    switch (part.kind) {
      case 'and':
      case 'or': {
        const numbers = part.operands.map((operand) => this.#count(operand));
        return `${part.kind} ${numbers.sort((a, b) => a - b).join()}`;
      }
      case 'not':
        return `not ${this.#count(part.operand)}`;
      case 'comparison':
        return `${part.operator} ${part.property} ${textOfLiteral(part.literal)}`;
      case 'property':
        return `is ${part.property}`;
      case 'constant':
        return `constant ${part.value}`;
      default:
        return unreachable(part);
    }
  }
}

function textOfLiteral({ type, value }: EdmValue): string {
  if (typeof value === 'object') return `${type} ${Buffer.from(value).toString('latin1')}`;
  return `${type} ${Object.is(value, -0) ? '-0' : String(value)}`;
}
