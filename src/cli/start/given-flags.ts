import { mistakesIn } from '../../base/shape/check.js';
import { pathText, sentence, shownValue } from '../../base/shape/mistake.js';
import type { Flag, Option } from '../../app/options/option.js';
import { messageOf, UsageError } from '../terminal/failure.js';
import { names } from '../arguments/option-parsers.js';
import { printable } from '../terminal/terminal.js';
import { attributeOf, flagLabel, isSwitch } from './flags.js';

/** The flags and variables that the library has found. */
export interface FoundFlags {
  readonly getOptionValue: (attribute: string) => unknown;
  readonly getOptionValueSource: (attribute: string) => string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface GivenFlag {
  readonly flag: Flag;
  /** As in a program, as far as its text allows. */
  readonly value: unknown;
}

/** The values of a command line and the environment. */
export class GivenFlags {
  readonly #found: FoundFlags;
  readonly #environment: Environment;

  constructor(found: FoundFlags, environment: Environment) {
    this.#found = found;
    this.#environment = environment;
  }

  /** The source of a flag; undefined when it was not given. */
  from(flag: Flag): 'cli' | 'env' | undefined {
    const source = this.#found.getOptionValueSource(attributeOf(flag));
    if (source === 'cli' || source === 'env') return source;
    return isSwitch(flag) && this.#switchVariable(flag) !== '' ? 'env' : undefined;
  }

  /** True when the option with this library name was on the command line. */
  isOnLine(attribute: string): boolean {
    return this.#found.getOptionValueSource(attribute) === 'cli';
  }

  /** `--table-port`, or the variable that was used instead. */
  label(flag: Flag): string {
    return flagLabel(flag, this.from(flag) === 'env');
  }

  /** The given flags of an option. Throws `UsageError` for an invalid text. */
  of(row: Option): readonly GivenFlag[] {
    const given = (row.flags ?? []).filter((flag) => this.from(flag) !== undefined);
    return given.map((flag) => ({ flag, value: this.#checked(flag, this.#read(flag)) }));
  }

  #read(flag: Flag): unknown {
    const raw = this.#found.getOptionValue(attributeOf(flag));
    switch (flag.form) {
      case 'on':
        return this.#found.getOptionValueSource(attributeOf(flag)) === 'cli' || this.#yes(flag);
      case 'off':
        return false;
      case 'number':
        return typeof raw === 'string' && /^-?\d+(\.\d+)?$/.test(raw) ? Number(raw) : raw;
      case 'names':
        // A variable is one text, a flag is one text each time.
        if (typeof raw === 'string') return names(raw);
        return Array.isArray(raw) ? raw.flatMap((text) => names(String(text))) : raw;
      case 'json':
        return typeof raw === 'string' && /^\s*[{[]/.test(raw) ? this.#json(flag, raw) : raw;
      case 'texts of json':
        return Array.isArray(raw) ? raw.map((text) => this.#json(flag, String(text))) : raw;
      default:
        return raw;
    }
  }

  /** Accepts only explicit values for true and false. */
  #yes(flag: Flag): boolean {
    const text = this.#switchVariable(flag).toLowerCase();
    if (text === 'true' || text === '1') return true;
    if (text === 'false' || text === '0') return false;
    throw new UsageError(
      `${flag.variable ?? ''} must be true or false, not ${printable(shownValue(text))}.`,
    );
  }

  #switchVariable({ variable }: Flag): string {
    return variable === undefined ? '' : (this.#environment[variable] ?? '');
  }

  #json(flag: Flag, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new UsageError(`${this.label(flag)} must be JSON: ${printable(messageOf(error))}.`);
    }
  }

  #checked(flag: Flag, value: unknown): unknown {
    if (flag.shape === undefined) return value;
    const { shown } = mistakesIn(flag.shape, value);
    if (shown.length === 0) return value;
    throw new UsageError(
      shown
        .map(({ path, problem }) => sentence(`${this.label(flag)}${behind(path)}`, problem))
        .map(printable)
        .join('\n'),
    );
  }
}

/** The path of a part of a value, as a suffix of the value's name. */
export function behind(path: readonly (string | number)[]): string {
  const text = pathText(path, '');
  return text === '' || text.startsWith('[') ? text : `.${text}`;
}
