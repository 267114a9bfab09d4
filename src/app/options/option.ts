import type { Shape } from '../../base/shape/shape.js';

/** Headings of `tabularium start --help`, in their order. */
export const optionGroups = [
  'Data:',
  'Addresses:',
  'Accounts:',
  'https:',
  'Bearer tokens:',
  'Log:',
  'How exactly to do as the cloud service does:',
  'To test how clients take failures:',
  'Spellings of Azurite that work here:',
] as const;
export type OptionGroup = (typeof optionGroups)[number];

/**
 * How the words of a command line and of an environment variable are read. `text` and `number`: one.
 * `on`, `off`: the flag alone; in a variable true or false. `perhaps`: the flag with or without a
 * text. `texts`: a text each time. `names`: names with commas between them, each time. `json`: a
 * value in JSON; `texts of json`: one each time.
 */
export type FlagForm =
  'text' | 'number' | 'on' | 'off' | 'perhaps' | 'texts' | 'names' | 'json' | 'texts of json';

/** One spelling of an option, or of a part of it, on the command line of `tabularium start`. */
export interface Flag {
  /** As the help shows it: `-l, --location <directory>`. */
  readonly spelling: string;
  readonly form: FlagForm;
  /** Undefined: the help of its option. */
  readonly help?: string;
  /** The environment variable that says the same. */
  readonly variable?: string;
  /** Variables that say it in a way of their own, in words for people. */
  readonly otherVariables?: string;
  /** The member of the option that it gives. */
  readonly part?: string;
  /** It changes this part of what the file says, instead of replacing all of it. */
  readonly completes?: true;
  /** What its text must be, where that differs from the value of the option. */
  readonly shape?: Shape;
  /** A spelling that is there for scripts of Azurite. */
  readonly isOfAzurite?: true;
}

/** How an option stands in the configuration file. */
export interface FilePlace {
  /** Its member, `tables.port` inside of another one. */
  readonly member: string;
  /** What it must be, where a file says it otherwise than a program. */
  readonly shape?: Shape;
  /** What it means, where that differs. */
  readonly help?: string;
  readonly example: unknown;
  /** It names a file or a folder, from the folder of the configuration file. */
  readonly isPath?: true;
  /** Members of it that do so, unless they are URLs. */
  readonly paths?: readonly string[];
}

/**
 * An option: everything that there is to say about it. What programs, command lines, variables and
 * files may say, what is said against them, the help, the published schema and the pages are made
 * of these.
 */
export interface Option<Value = unknown> {
  /** What a program gives. */
  readonly shape: Shape<Value>;
  /** What it does, in words that begin in lower case and have no full stop at the end. */
  readonly help: string;
  /** What holds when nobody says it. */
  readonly standard?: string | number | boolean;
  /** The same of `tabularium start`, where that differs. */
  readonly startStandard?: string | number;
  /** What holds when nobody says it, where no value says that. */
  readonly standardWords?: string;
  readonly group?: OptionGroup;
  readonly flags?: readonly Flag[];
  readonly file?: FilePlace;
  /** Changes hold without a restart. */
  readonly reloads?: true;
  /** The page that tells more, in docs/reference. */
  readonly page?: string;
}

/** A row of a table of options; the parameter keeps the type of its value. */
export function option<Value>(row: Option<Value>): Option<Value> {
  return row;
}

/** The name of a flag, `--table-port`. */
export function longOf({ spelling }: Flag): string {
  return /--[A-Za-z-]+/.exec(spelling)?.[0] ?? spelling;
}

/** What an object with such options may hold. */
export type OptionsOf<Rows> = {
  readonly [Name in keyof Rows]?: Rows[Name] extends Option<infer Value> ? Value : never;
};
