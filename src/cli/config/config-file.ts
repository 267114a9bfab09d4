import { dirname, resolve } from 'node:path';
import { own } from '../../base/own.js';
import type { FaultRule, HttpLimits, LenientItem, ThrottleSetting } from '../../app/index.js';
import type { TokenRight } from '../../http/oauth/role-permissions.js';
import type { AccountSettings } from '../../services/accounts/directory.js';
import { UsageError } from '../failure.js';
import { looksLikeKey } from './key-like.js';
import { checkSchema } from './schema-check.js';
import {
  plainValue,
  readStructuredFile,
  readText,
  type StructuredFile,
} from './structured-file.js';

/** Where a service listens, and within which bounds. */
export interface ServiceConfig {
  readonly host?: string;
  readonly port?: number;
  readonly limits?: Partial<HttpLimits>;
}

/**
 * What a configuration file says (`schemas/config.schema.json`), its references to keys resolved and
 * its paths absolute. Plain data: it can be sent to another process.
 */
export interface Config {
  readonly accounts?: readonly AccountSettings[];
  readonly location?: string;
  readonly inMemory?: boolean;
  readonly host?: string;
  readonly allowHosts?: readonly string[];
  readonly tables?: ServiceConfig;
  readonly queues?: ServiceConfig;
  readonly limits?: Partial<HttpLimits>;
  readonly durability?: 'durable' | 'relaxed';
  readonly workers?: number;
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly checkClockSkew?: boolean;
  readonly lenient?: boolean | readonly LenientItem[];
  readonly strictApiVersions?: boolean;
  readonly simulateTableDeleteDelay?: string | number;
  readonly pagingTestMode?: boolean | { readonly seed: string | number };
  readonly tls?: 'self-signed' | TlsFilesConfig;
  readonly oauth?: OAuthConfig;
  readonly init?: string;
  readonly faults?: readonly FaultRule[];
  readonly throttle?: ThrottleSetting;
  readonly controlPort?: number;
}

/** Whose bearer tokens are accepted; `dev` as the issuer is the local one. */
export interface OAuthConfig {
  readonly issuer: string;
  readonly audience?: string | readonly string[];
  /** A file, relative to this one, or a URL. */
  readonly jwks?: string;
  readonly roles?: Readonly<Record<string, readonly TokenRight[]>>;
  readonly allowHttp?: boolean;
}

/** The certificate to speak https with: `cert` and `key`, or `pfx`. */
export interface TlsFilesConfig {
  readonly cert?: string;
  readonly key?: string;
  readonly pfx?: string;
  readonly passphraseFile?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The file holds not a single character, as one that is about to be written. */
  readonly isEmpty: boolean;
  /** Keys of accounts stand in the file itself. */
  readonly holdsKeys: boolean;
  /** The file, first, and those it refers to that are read with it. */
  readonly files: readonly string[];
}

/** Is told of a file, and waited for, before it is read. */
export type Reads = (file: string) => Promise<void>;

type Environment = Readonly<Record<string, string | undefined>>;

type KeySource = string | { readonly env: string } | { readonly file: string };

/** What the schema lets through. */
type ConfigText = Omit<Config, 'accounts'> & {
  readonly $schema?: string;
  readonly accounts?: readonly {
    readonly name: string;
    readonly keys: readonly KeySource[];
  }[];
};

const configBytesMax = 1024 * 1024;
const keyFileBytesMax = 16 * 1024;

/**
 * Reads a configuration file of YAML or JSON. Throws `UsageError`, which names the file, the place,
 * what is allowed there and what was probably meant; it never repeats a key. `reads` is told of each
 * file before it is read, and waited for; also of the one that is the reason of a refusal.
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
  // Nothing but comments says nothing.
  const value = plainValue(file) ?? {};
  checkSchema('config', file, value);
  const { $schema: _, accounts, ...rest } = value as ConfigText;
  const folder = dirname(resolve(name));
  const paths = (['location', 'init'] as const).flatMap((member) => {
    const path = rest[member];
    return path === undefined ? [] : [[member, resolve(folder, path)] as const];
  });
  const config = {
    ...rest,
    ...Object.fromEntries(paths),
    ...tlsConfig(rest, folder),
    ...oauthConfig(rest, folder),
  };
  const holdsKeys =
    accounts?.some(({ keys }) => keys.some((key) => typeof key === 'string')) ?? false;
  if (accounts === undefined) return { config, isEmpty, holdsKeys, files };
  const keys = new KeyReader({ source: file, folder, environment, noteFile });
  const resolved: AccountSettings[] = [];
  for (const [at, account] of accounts.entries()) {
    const place = ['accounts', at, 'keys'];
    const read = account.keys.map((key, index) => keys.read(key, [...place, index]));
    resolved.push({ ...account, keys: await Promise.all(read) });
  }
  return { config: { ...config, accounts: resolved }, isEmpty, holdsKeys, files };
}

/** With absolute paths. */
function tlsConfig({ tls }: Pick<Config, 'tls'>, folder: string): Pick<Config, 'tls'> {
  if (typeof tls !== 'object') return {};
  const paths = Object.entries(tls).map(([name, path]) => [name, resolve(folder, path)] as const);
  return { tls: Object.fromEntries(paths) };
}

/** With an absolute path. */
function oauthConfig({ oauth }: Pick<Config, 'oauth'>, folder: string): Pick<Config, 'oauth'> {
  if (oauth?.jwks === undefined || /^https?:/i.test(oauth.jwks)) return {};
  return { oauth: { ...oauth, jwks: resolve(folder, oauth.jwks) } };
}

interface KeyReaderOptions {
  readonly source: StructuredFile;
  /** Where relative paths start. */
  readonly folder: string;
  readonly environment: Environment;
  /** Told of absolute names. */
  readonly noteFile: Reads;
}

/** Reads keys from where a file says that they are. */
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
    return new UsageError(`${this.#options.source.place(path)}: A key cannot be had: ${what}.`);
  }
}
