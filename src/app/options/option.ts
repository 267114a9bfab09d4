import type { Shape } from '../../base/shape/shape.js';

/** The headings of `tabularium start --help`, in order. */
export const optionGroups = [
  'Data:',
  'Addresses:',
  'Accounts:',
  'https:',
  'Bearer tokens:',
  'Copies from other servers:',
  'Log:',
  'How exactly to do as the cloud service does:',
  'To test how clients take failures:',
  'Spellings of Azurite that work here:',
] as const;
export type OptionGroup = (typeof optionGroups)[number];

/**
 * How the words of a flag and its variable are parsed. `text` and `number`: one. `on`, `off`: the
 * flag alone; in a variable true or false. `perhaps`: the flag with or without a text. `texts`: one
 * text each time. `names`: comma-separated names, each time. `json`: a JSON value; `texts of json`:
 * one each time.
 */
export type FlagForm =
  'text' | 'number' | 'on' | 'off' | 'perhaps' | 'texts' | 'names' | 'json' | 'texts of json';

/** A command-line spelling of an option, or of a part of it, of `tabularium start`. */
export interface Flag {
  /** As the help shows it: `-l, --location <directory>`. */
  readonly spelling: string;
  readonly form: FlagForm;
  /** Undefined: the help of its option. */
  readonly help?: string;
  /** The equivalent environment variable. */
  readonly variable?: string;
  /** Variables with a format of their own, in words for people. */
  readonly otherVariables?: string;
  /** The member of the option that it sets. */
  readonly part?: string;
  /** It changes this part of the file's value, instead of replacing all of it. */
  readonly completes?: true;
  /** The shape of its text, when it differs from the option's value. */
  readonly shape?: Shape;
  /** A spelling for compatibility with scripts for Azurite. */
  readonly isOfAzurite?: true;
}

/** The option in the configuration file. */
export interface FileMember {
  /** Its member; `tables.port` is nested. */
  readonly member: string;
  /** Its shape, when a file has another form than a program. */
  readonly shape?: Shape;
  /** Its help, when it differs. */
  readonly help?: string;
  readonly example: unknown;
  /** It is a path, relative to the configuration file. */
  readonly isPath?: true;
  /** Its members that are paths, unless they are URLs. `*.name`: of each of its members. */
  readonly paths?: readonly string[];
}

/**
 * The single declaration of an option. The types for programs, the flags, variables and file
 * members, the validation, the help, the published schema and the pages are derived from it.
 */
export interface Option<Value = unknown> {
  /** The shape of the value in a program. */
  readonly shape: Shape<Value>;
  /** The help text, in lower case and without a full stop. */
  readonly help: string;
  /** The default. */
  readonly defaultValue?: string | number | boolean;
  /** The default of `tabularium start`, when it differs. */
  readonly startDefault?: string | number;
  /** The default in words, when no value expresses it. */
  readonly defaultWords?: string;
  readonly group?: OptionGroup;
  readonly flags?: readonly Flag[];
  readonly file?: FileMember;
  /** Changes take effect without a restart. */
  readonly reloads?: true;
  /** The page with details, in docs/reference. */
  readonly page?: string;
}

/** A row of an options table; the parameter keeps the type of its value. */
export function option<Value>(row: Option<Value>): Option<Value> {
  return row;
}

/** The name of a flag, `--table-port`. */
export function longOf({ spelling }: Flag): string {
  return /--[A-Za-z-]+/.exec(spelling)?.[0] ?? spelling;
}

/** The type of an object with these options. */
export type OptionsOf<Rows> = {
  readonly [Name in keyof Rows]?: Rows[Name] extends Option<infer Value> ? Value : never;
};
