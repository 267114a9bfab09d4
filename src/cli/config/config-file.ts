import { dirname, resolve } from 'node:path';
import { own } from '../../base/own.js';
import type { AccountOfFile, KeySource } from '../../app/options/accounts.js';
import type { FileMember } from '../../app/options/option.js';
import { optionRows } from '../../app/options/table.js';
import { looksLikeKey } from '../../base/shape/secret-text.js';
import type { AccountSettings } from '../../services/accounts/directory.js';
import { UsageError } from '../terminal/failure.js';
import { checkSchema } from './schema-check.js';
import {
  plainValue,
  readStructuredFile,
  readText,
  type LocationOf,
  type StructuredFile,
} from './structured-file.js';

/**
 * A loaded configuration file (`schemas/config.schema.json`), with resolved key references and
 * absolute paths. Plain data: it can be sent to another process.
 */
export interface Config extends Readonly<Record<string, unknown>> {
  readonly accounts?: readonly AccountSettings[];
}

export interface LoadedConfig {
  readonly config: Config;
  /** The position of a member: `file:line:column`. */
  readonly locationOf?: LocationOf;
  /** The file is empty, such as one that is just being written. */
  readonly isEmpty: boolean;
  /** The file itself contains account keys. */
  readonly holdsKeys: boolean;
  /** The configuration file, followed by the files that it refers to. */
  readonly files: readonly string[];
}

/** Called, and awaited, before each file is read. */
export type Reads = (file: string) => Promise<void>;

type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration after validation by the schema. */
interface ConfigText extends Readonly<Record<string, unknown>> {
  readonly accounts?: readonly AccountOfFile[];
}

const configBytesMax = 1024 * 1024;
const keyFileBytesMax = 16 * 1024;

/**
 * Reads a configuration file of YAML or JSON. Throws `UsageError`, which names the file, the
 * position, what is allowed there and a likely correction; it never repeats a key. `reads` is
 * called, and awaited, before each file is read, including one that causes an error.
 */
export async function loadConfig(
  name: string,
  environment: Environment,
  reads: Reads = () => Promise.resolve(),
): Promise<LoadedConfig> {
  const files: string[] = [];
  const noteFile: Reads = (read) => {
    files.push(read);
    return reads(read);
  };
  await noteFile(resolve(name));
  const file = await readStructuredFile(name, configBytesMax);
  const { isEmpty } = file;
  // A file of comments has no settings.
  const value = plainValue(file) ?? {};
  checkSchema('config', file, value);
  const { $schema: _, accounts, ...rest } = value as ConfigText;
  const folder = dirname(resolve(name));
  const config = withAbsolutePaths(rest, folder);
  const locationOf: LocationOf = (path) => file.location(path);
  const holdsKeys =
    accounts?.some(({ keys }) => keys.some((key) => typeof key === 'string')) ?? false;
  if (accounts === undefined) return { config, locationOf, isEmpty, holdsKeys, files };
  const keys = new KeyReader({ source: file, folder, environment, noteFile });
  const resolved: AccountSettings[] = [];
  for (const [at, account] of accounts.entries()) {
    const place = ['accounts', at, 'keys'];
    const read = account.keys.map((key, index) => keys.read(key, [...place, index]));
    resolved.push({ ...account, keys: await Promise.all(read) });
  }
  return { config: { ...config, accounts: resolved }, locationOf, isEmpty, holdsKeys, files };
}

/** Resolves paths relative to the folder of the file. */
function withAbsolutePaths(config: Config, folder: string): Config {
  const entries = Object.entries(config).map(([name, value]) => {
    const file = optionRows().find(([, row]) => row.file?.member === name)?.[1].file;
    return [name, file === undefined ? value : absolute(value, file, folder)] as const;
  });
  return Object.fromEntries(entries);
}

const eachOf = '*.';

function absolute(
  value: unknown,
  { isPath, paths = [] }: Pick<FileMember, 'isPath' | 'paths'>,
  folder: string,
): unknown {
  if (isPath === true && typeof value === 'string') return resolve(folder, value);
  if (typeof value !== 'object' || value === null || paths.length === 0) return value;
  const inner = paths.flatMap((path) => (path.startsWith(eachOf) ? path.slice(eachOf.length) : []));
  const members = Object.entries(value).map(([name, part]: [string, unknown]) => {
    if (inner.length > 0) return [name, absolute(part, { paths: inner }, folder)] as const;
    const isFile = paths.includes(name) && typeof part === 'string' && !/^https?:/i.test(part);
    return [name, isFile ? resolve(folder, part) : part] as const;
  });
  return Object.fromEntries(members);
}

interface KeyReaderOptions {
  readonly source: StructuredFile;
  /** The base of relative paths. */
  readonly folder: string;
  readonly environment: Environment;
  /** Called with absolute names. */
  readonly noteFile: Reads;
}

/** Reads keys from the sources named in a file. */
class KeyReader {
  readonly #options: KeyReaderOptions;

  constructor(options: KeyReaderOptions) {
    this.#options = options;
  }

  async read(key: KeySource, path: readonly (string | number)[]): Promise<string> {
    if (typeof key === 'string') return key;
    if ('env' in key) {
      const value = own(this.#options.environment, key.env)?.trim();
      if (value) return value;
      const shown = looksLikeKey(key.env) ? 'that env names' : key.env;
      throw this.#problem(path, `the environment variable ${shown} is not set or empty`);
    }
    const name = resolve(this.#options.folder, key.file);
    await this.#options.noteFile(name);
    const text = (await this.#text(name, path)).trim();
    if (text !== '') return text;
    throw this.#problem(path, `${key.file} is empty; it has to hold the key`);
  }

  #text(name: string, path: readonly (string | number)[]): Promise<string> {
    return readText(name, keyFileBytesMax).catch((error: unknown) => {
      if (!(error instanceof UsageError)) throw error;
      throw this.#problem(path, error.message.replace(/\.$/, ''));
    });
  }

  #problem(path: readonly (string | number)[], what: string): UsageError {
    return new UsageError(`${this.#options.source.location(path)}: A key cannot be had: ${what}.`);
  }
}
