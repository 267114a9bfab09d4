import { either, list, member, object, shapeOf, text, type Shape } from '../../base/shape/shape.js';
import { option } from './option.js';

/**
 * An account to serve. Keys are base64, as in connection strings; any of them can sign requests.
 */
export type AccountOptions =
  | { readonly name: string; readonly key: string }
  | { readonly name: string; readonly keys: readonly string[] };

const name = text({
  pattern: /^[a-z0-9]{3,24}$/,
  expected: '3 to 24 lower-case letters and digits',
});

const keyWords = 'base64, as in connection strings';

interface AccountInput {
  readonly name: string;
  readonly key?: string;
  readonly keys?: readonly string[];
}

/** `makeAccountDirectory` checks names and keys. */
const account: Shape<AccountOptions> = shapeOf(
  object<AccountInput>(
    {
      name: member(text(), '3 to 24 lower-case letters and digits.', 'orders'),
      key: member(text({ expected: keyWords, isSecret: true }), 'Its key.', 'a2V5'),
      keys: member(
        list(text({ expected: keyWords, isSecret: true }), {
          min: 1,
          expected: `a list of at least 1 key, each ${keyWords}`,
          isSecret: true,
        }),
        'Its keys.',
        ['a2V5'],
      ),
    },
    { required: ['name'] },
  ),
);

/** The source of a key in a file. */
export type KeySource = string | { readonly env: string } | { readonly file: string };

/** An account of a configuration file. */
export interface AccountOfFile {
  readonly name: string;
  readonly keys: readonly KeySource[];
}

const keySource = object<{ readonly env?: string; readonly file?: string }>(
  {
    env: member(text(), 'The environment variable that holds the key.', 'ORDERS_KEY'),
    file: member(
      text(),
      'The file that holds the key and nothing else. The server reads it again when it changes.',
      '/run/secrets/orders-key',
    ),
  },
  { isSingle: true },
);

const keyDescription =
  'A key is base64, or { env: NAME } to take it from an environment variable, or { file: PATH } to ' +
  'read it from a file.';

const key: Shape<KeySource> = shapeOf(
  either([text(), keySource], {
    expected: 'base64, { env: NAME } or { file: PATH }',
    definition: { name: 'key', description: keyDescription },
    isSecret: true,
  }),
);

const accountOfFile: Shape<AccountOfFile> = object<AccountOfFile>(
  {
    name: member(name, '3 to 24 lower-case letters and digits.', 'orders'),
    keys: member(
      list(key, { min: 1, max: 2, isSecret: true, expected: 'a list of one key or two' }),
      'One key or two, both equally valid, so that clients can change to a new one while the old ' +
        'one still works.',
      [{ env: 'ORDERS_KEY' }, { file: 'keys/orders.new' }],
    ),
  },
  {
    required: ['name', 'keys'],
    definition: { name: 'account', description: 'A storage account.' },
  },
);

export const accountOptions = {
  /** Default: the development account that clients know by `UseDevelopmentStorage=true`. */
  accounts: option({
    shape: list(account, { min: 1 }),
    help: 'the storage accounts to serve',
    defaultWords: 'the development account devstoreaccount1',
    group: 'Accounts:',
    flags: [
      {
        spelling: '--account <name:key>',
        form: 'texts',
        shape: list(text()),
        help:
          'an account to serve; may be repeated, and may have two keys (name:key1:key2). Others on ' +
          'the machine can see it: prefer a variable or --config. Default: TABULARIUM_ACCOUNTS ' +
          'or AZURITE_ACCOUNTS (several separated by ;), or else the development account ' +
          'devstoreaccount1',
        otherVariables: '`TABULARIUM_ACCOUNTS`, or else `AZURITE_ACCOUNTS`',
      },
    ],
    file: {
      member: 'accounts',
      shape: list(accountOfFile, { min: 1 }),
      example: [{ name: 'orders', keys: [{ env: 'ORDERS_KEY' }] }],
    },
    reloads: true,
    page: 'configuration.md#accounts',
  }),
};
