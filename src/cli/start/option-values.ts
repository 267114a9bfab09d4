import { mistakesIn } from '../../base/shape/check.js';
import {
  pathText,
  sentence,
  within,
  type Mistake,
  type ValuePath,
} from '../../base/shape/mistake.js';
import { longOf, type Flag, type Option } from '../../app/options/option.js';
import { optionTable, processTable, serverTable } from '../../app/options/table.js';
import type { Config } from '../config/config-file.js';
import type { LocationOf } from '../config/structured-file.js';
import { UsageError } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';
import { behind, type GivenFlag, type GivenFlags } from './given-flags.js';

export type OptionName = keyof typeof optionTable;

/** Composes the value of an option from its flags. */
export type ComposeFlags = (given: readonly GivenFlag[], flags: GivenFlags) => unknown;

/**
 * The merged values of command line, environment and configuration file. Each option comes from the
 * first source that has it.
 */
export class OptionValues {
  readonly #flags: GivenFlags;
  readonly #config: Config;
  readonly #locationOf: LocationOf | undefined;
  readonly #compose: { readonly [Name in OptionName]?: ComposeFlags };

  constructor(
    flags: GivenFlags,
    {
      config,
      locationOf,
    }: { readonly config: Config; readonly locationOf?: LocationOf | undefined },
    compose: { readonly [Name in OptionName]?: ComposeFlags } = {},
  ) {
    this.#flags = flags;
    this.#config = config;
    this.#locationOf = locationOf;
    this.#compose = compose;
  }

  get flags(): GivenFlags {
    return this.#flags;
  }

  /** The given value of an option, without its default. */
  configured(name: OptionName): unknown {
    const row = optionTable[name];
    const given = this.#flags.of(row);
    const value = this.#ofFile(row);
    if (given.length === 0) return value;
    const compose = this.#compose[name] ?? lastValue;
    const composed = compose(given, this.#flags);
    const isWhole = given.some(({ flag }) => flag.completes !== true);
    return isWhole || !isObject(value) || !isObject(composed)
      ? composed
      : { ...value, ...composed };
  }

  #ofFile({ file }: Option): unknown {
    return file === undefined ? undefined : valueAt(this.#config, file.member.split('.'));
  }

  /** The value of a process option. Throws `UsageError`. */
  ofProcess<Name extends keyof typeof processTable>(name: Name): ProcessValue<Name> | undefined {
    const row: Option = processTable[name];
    const value = this.configured(name) ?? row.defaultValue;
    if (value === undefined) return undefined;
    this.refuse(mistakesIn(row.shape, value).shown.map((mistake) => within(name, mistake)));
    return value as ProcessValue<Name>;
  }

  refuseOne(mistake: Mistake): never {
    throw new UsageError(printable(this.#explained(mistake)));
  }

  /** Throws `UsageError` with all mistakes; does nothing when there are none. */
  refuse(mistakes: readonly Mistake[]): void {
    if (mistakes.length === 0) return;
    const lines = mistakes.map((mistake) => printable(this.#explained(mistake)));
    throw new UsageError([...new Set(lines)].join('\n'));
  }

  /** A mistake with the source in which the user can fix it. */
  #explained({ path, problem }: Mistake): string {
    const [name, ...inner] = path;
    const row = typeof name === 'string' && isOption(name) ? optionTable[name] : undefined;
    if (row === undefined || typeof name !== 'string')
      return sentence(pathText(path, 'It'), problem);
    const given = (row.flags ?? []).filter((flag) => this.#flags.from(flag) !== undefined);
    const flag = flagFor(given, inner);
    if (flag !== undefined) return sentence(this.#flagText(flag, inner), problem);
    const place = [...(row.file?.member.split('.') ?? [name]), ...inner];
    if (this.#locationOf !== undefined && valueAt(this.#config, place.slice(0, 1)) !== undefined) {
      return `${this.#locationOf(place)}: ${sentence(pathText(place, ''), problem)}`;
    }
    const main = flagFor(row.flags ?? [], inner);
    return sentence(main === undefined ? pathText(path, '') : longOf(main), problem);
  }

  #flagText(flag: Flag, inner: ValuePath): string {
    const rest = flag.part !== undefined && flag.part === inner[0] ? inner.slice(1) : inner;
    return `${this.#flags.label(flag)}${behind(rest)}`;
  }
}

type ProcessValue<Name extends keyof typeof processTable> =
  (typeof processTable)[Name] extends Option<infer Value> ? Value : never;

export function isOption(name: string): name is OptionName {
  return Object.hasOwn(optionTable, name);
}

export function isServerOption(name: string): name is keyof typeof serverTable {
  return Object.hasOwn(serverTable, name);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function lastValue(given: readonly GivenFlag[]): unknown {
  return given.at(-1)?.value;
}

/** The flag for this part of an option, or else for all of it. */
function flagFor(flags: readonly Flag[], [part]: ValuePath): Flag | undefined {
  return (
    flags.find((flag) => flag.part !== undefined && flag.part === part) ??
    flags.find((flag) => flag.part === undefined) ??
    flags[0]
  );
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: unknown, path: ValuePath): unknown {
  let found: unknown = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = Reflect.get(found, part);
  }
  return found;
}
