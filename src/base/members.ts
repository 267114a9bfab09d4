import { inspect } from 'node:util';
import { nearestName } from './nearest-name.js';

/** A setting from outside that cannot be used; the message says which member, and what would do. */
export class InvalidSettingError extends Error {
  override readonly name = 'InvalidSettingError';
}

interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly whole?: boolean;
}

const shownCharactersMax = 80;

/** A value for messages: its JSON, or something like it where it has none, up to a length. */
export function shownValue(value: unknown): string {
  const text = jsonOf(value) ?? inspect(value, { depth: 1, breakLength: Infinity });
  return text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`;
}

/** Undefined for what has no JSON, and for what is too deep or has cycles. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/**
 * The members of an object from outside, such as one that was JSON. Every method throws
 * `InvalidSettingError` for a member of another type than it reads; an absent one is undefined.
 */
export class Members {
  /** Where the object stands, for messages: `faults[0]`. */
  readonly place: string;
  readonly #values: ReadonlyMap<string, unknown>;

  /** Throws when it is no object, or has a member besides `known`. */
  constructor(place: string, value: unknown, known: readonly string[]) {
    this.place = place;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new InvalidSettingError(
        `${place} must be an object with members of: ${known.join(', ')}; it is ${shownValue(value)}.`,
      );
    }
    this.#values = new Map(Object.entries(value).filter((entry) => entry[1] !== undefined));
    for (const name of this.#values.keys()) {
      if (known.includes(name)) continue;
      const meant = nearestName(name, known);
      const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`;
      throw new InvalidSettingError(
        `${place} has no member '${name.slice(0, shownCharactersMax)}'; it may have: ${known.join(', ')}.${hint}`,
      );
    }
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  get(name: string): unknown {
    return this.#values.get(name);
  }

  string(name: string): string | undefined {
    const value = this.get(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.wrong(name, 'a text');
  }

  /** One text or a list of some. */
  strings(name: string): readonly string[] | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    const texts = list.filter((each) => typeof each === 'string');
    if (texts.length > 0 && texts.length === list.length) return texts;
    throw this.wrong(name, 'a text or a list of texts');
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const found = values.find((each) => each === value);
    if (found !== undefined) return found;
    throw this.wrong(name, `one of ${values.join(', ')}`);
  }

  number(name: string, { min, max, whole = false }: NumberBounds): number | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const fits = typeof value === 'number' && value >= min && value <= max;
    if (fits && (!whole || Number.isInteger(value))) return value;
    throw this.wrong(name, `${whole ? 'a whole number' : 'a number'} from ${min} to ${max}`);
  }

  /** The error of a member that is not what it must be. */
  wrong(name: string, expected: string): InvalidSettingError {
    const value = this.get(name);
    const found = value === undefined ? 'it is missing' : `it is ${shownValue(value)}`;
    return new InvalidSettingError(`${this.place}.${name} must be ${expected}; ${found}.`);
  }
}
