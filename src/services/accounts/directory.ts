import { createSecretKey, type KeyObject } from 'node:crypto';

/** A storage account that the server answers for. */
export interface Account {
  readonly name: string;
  /** Secrets of its signatures, all equally valid. */
  readonly keys: readonly KeyObject[];
  /** Everybody knows one of its keys, so that a signature proves nothing. */
  readonly isPublic: boolean;
}

/** An account as a person configures it. Keys are base64. */
export interface AccountSettings {
  readonly name: string;
  readonly keys: readonly string[];
}

export interface AccountDirectory {
  find(name: string): Account | undefined;
}

/** An account that cannot be served as configured. The message tells the person what to change. */
export class AccountSettingsError extends Error {
  override readonly name = 'AccountSettingsError';
}

/**
 * The account that every storage emulator has; its key is public (table-service §8). Clients
 * mean it by `UseDevelopmentStorage=true`.
 */
export const developmentAccount: AccountSettings = Object.freeze({
  name: 'devstoreaccount1',
  keys: Object.freeze([
    'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  ]),
});

/** Whether everybody knows one of the keys, in whatever account it is. */
export function hasPublicKey({ keys }: Pick<AccountSettings, 'keys'>): boolean {
  return keys.some((key) => developmentAccount.keys.includes(key));
}

export const accountNameLengthMax = 24;
const accountName = /^[a-z0-9]{3,24}$/;
const base64 =
  /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^[A-Za-z0-9+/]{2,3}={1,2}$/;
const keyCharactersMax = 1024;

/**
 * These accounts and no others.
 *
 * @throws {AccountSettingsError} when a name or key is malformed, or an account occurs twice.
 */
export function makeAccountDirectory(accounts: readonly AccountSettings[]): AccountDirectory {
  const byName = new Map<string, Account>();
  for (const settings of accounts) {
    const account = makeAccount(settings);
    if (byName.has(account.name)) {
      throw new AccountSettingsError(`The account '${account.name}' is configured twice.`);
    }
    byName.set(account.name, account);
  }
  return { find: (name) => byName.get(name) };
}

/**
 * The accounts of another directory, which can change to those of a third one, all at once. Who has
 * found an account before keeps it as it was.
 */
export class CurrentAccounts implements AccountDirectory {
  #directory: AccountDirectory;

  constructor(directory: AccountDirectory) {
    this.#directory = directory;
  }

  find(name: string): Account | undefined {
    return this.#directory.find(name);
  }

  /** Data of an account that is gone stay, and are there again when it comes back. */
  replace(directory: AccountDirectory): void {
    this.#directory = directory;
  }
}

function makeAccount({ name, keys }: AccountSettings): Account {
  if (!accountName.test(name)) {
    throw new AccountSettingsError(
      `${shownName(name)} cannot name an account: use 3 to 24 lower-case letters and digits.`,
    );
  }
  if (keys.length === 0) throw new AccountSettingsError(`The account '${name}' has no key.`);
  return Object.freeze({
    name,
    keys: Object.freeze(keys.map((key) => secretKey(name, key))),
    isPublic: hasPublicKey({ keys }),
  });
}

/** What is longer than any name may be a key in its place. */
function shownName(name: string): string {
  return name.length <= accountNameLengthMax ? `'${name}'` : `A text of ${name.length} characters`;
}

function secretKey(account: string, key: string): KeyObject {
  if (key.length > keyCharactersMax || !base64.test(key)) {
    throw new AccountSettingsError(
      `A key of the account '${account}' is not base64. Copy it whole, with any '=' at its end; ` +
        `make one with: openssl rand -base64 48`,
    );
  }
  return createSecretKey(Buffer.from(key, 'base64'));
}
