import {
  AccountSettingsError,
  accountNameLengthMax,
  developmentAccount,
  makeAccountDirectory,
  type AccountSettings,
} from '../../services/accounts/directory.js';
import { UsageError } from '../terminal/failure.js';

/** Accounts to serve, and notes for their owner. */
export interface ChosenAccounts {
  readonly accounts: readonly AccountSettings[];
  /** True when the accounts were given; otherwise they are the development account. */
  readonly areNamed: boolean;
  readonly notes: readonly string[];
}

/**
 * The accounts from the command line, else the environment, else the configuration file, else the
 * development account.
 */
export function chooseAccounts(
  given: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  configured: readonly AccountSettings[] | undefined,
): ChosenAccounts {
  const texts = given.length > 0 ? given : listedAccounts(environment);
  const notes: string[] = [];
  if (texts.length === 0) {
    if (configured === undefined) return { accounts: [developmentAccount], areNamed: false, notes };
    return checked(
      configured.map((account) => withBase64Keys(account, notes)),
      notes,
    );
  }
  if (configured !== undefined) {
    const where = given.length > 0 ? '--account goes' : 'TABULARIUM_ACCOUNTS goes';
    notes.push(`The accounts of the configuration file are not served: ${where} before them.`);
  }
  return checked(
    texts.map((text) => parseAccount(text.trim(), notes)),
    notes,
  );
}

/** The accounts of the environment. An empty variable counts as unset. */
function listedAccounts(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const variable = ['TABULARIUM_ACCOUNTS', 'AZURITE_ACCOUNTS'].find((name) => environment[name]);
  if (variable === undefined) return [];
  const texts = (environment[variable] ?? '').split(';').filter((text) => text.trim() !== '');
  if (texts.length > 0) return texts;
  throw new UsageError(
    `${variable} is set and names no account. Give name:key, several separated by ;, or leave it ` +
      'empty for the development account, whose key is public.',
  );
}

function checked(accounts: readonly AccountSettings[], notes: readonly string[]): ChosenAccounts {
  try {
    makeAccountDirectory(accounts);
  } catch (error) {
    if (error instanceof AccountSettingsError) throw new UsageError(error.message);
    throw error;
  }
  return { accounts, areNamed: true, notes };
}

const rawKeyLengthMin = 8;

/** Reads `name:key` or `name:key1:key2`. Messages never repeat a key. */
function parseAccount(text: string, notes: string[]): AccountSettings {
  const [name = '', ...keys] = text.split(':');
  // A text longer than any name may be a key in the wrong place, and so may one without a colon.
  const isName = keys.length > 0 && name.length <= accountNameLengthMax;
  if (!isName || keys.length > 2 || keys.includes('')) {
    const shown = isName && name !== '' ? ` '${name}'` : '';
    throw new UsageError(
      `An account${shown} is given as name:key or name:key1:key2; a name has 3 to 24 lower-case ` +
        'letters and digits.',
    );
  }
  return withBase64Keys({ name, keys }, notes);
}

function withBase64Keys(account: AccountSettings, notes: string[]): AccountSettings {
  return { ...account, keys: account.keys.map((key) => base64Key(account.name, key, notes)) };
}

/**
 * Clients decode keys from base64, so any other text is served as its base64. Base64 may have
 * several lines: key generators such as openssl break it after 64 characters.
 */
function base64Key(account: string, key: string, notes: string[]): string {
  const inOneLine = key.replaceAll(/[\r\n]/gu, '');
  if (isBase64(inOneLine)) return inOneLine;
  if (key.length < rawKeyLengthMin) {
    throw new UsageError(
      `A key of the account '${account}' is neither base64 nor ${rawKeyLengthMin} characters long. ` +
        'Make one with: openssl rand -base64 48',
    );
  }
  notes.push(
    `A key of the account '${account}' is not base64, so its UTF-8 bytes are the key. Clients need ` +
      'it in base64; print that with: printf %s "$KEY" | base64 -w0',
  );
  return Buffer.from(key, 'utf8').toString('base64');
}

function isBase64(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length > 0 && bytes.toString('base64') === text;
}
