import { createSecretKey, type KeyObject } from 'node:crypto';

/** A storage account of this server. */
export interface Account {
  readonly name: string;
  /** The secrets for signatures, all equally valid. */
  readonly keys: readonly KeyObject[];
  /** One of its keys is published, so a signature proves nothing. */
  readonly isPublic: boolean;
}

/** An account as configured. Keys are base64. */
export interface AccountSettings {
  readonly name: string;
  readonly keys: readonly string[];
}

export interface AccountDirectory {
  find(name: string): Account | undefined;
}

/** An account with invalid settings. The message says what to change. */
export class AccountSettingsError extends Error {
  override readonly name = 'AccountSettingsError';
}

/**
 * The account that every storage emulator has; its key is published (table-service §8). Clients use
 * it with `UseDevelopmentStorage=true`.
 */
export const developmentAccount: AccountSettings = Object.freeze({
  name: 'devstoreaccount1',
  keys: Object.freeze([
    'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  ]),
});

/** True when one of the keys is published, in any account. */
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
 * A directory whose accounts can be replaced, all at once. An `Account` that was looked up before
 * does not change.
 */
export class CurrentAccounts implements AccountDirectory {
  #directory: AccountDirectory;

  constructor(directory: AccountDirectory) {
    this.#directory = directory;
  }

  find(name: string): Account | undefined {
    return this.#directory.find(name);
  }

  /**
   * The data of a removed account stay, and are available again when the account is added again.
   */
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

/** A text longer than any name may be a misplaced key and is not shown. */
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
