import { Command } from 'commander';
import { systemClock } from '../../base/clock.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signTableSas } from '../../wire/auth/sas/sas-signature.js';
import {
  connectionOf,
  tableOption,
  withConnectionOptions,
  type ConnectionFlags,
} from '../client/connection-options.js';
import {
  keyRangeOf,
  rangeInWords,
  withKeyRangeOptions,
  type KeyRangeFlags,
} from './key-range-options.js';
import { containerLetters, inWords } from './permission-letters.js';
import { permissionsOption } from './permissions-option.js';
import { permissionsOrPolicy, policyInWords } from './policy-terms.js';
import { signerOf } from './signer.js';
import { policyOption, termsOf, withTermOptions, type TermFlags } from './term-options.js';
import {
  termsInWords,
  tokenFormatOption,
  tokenText,
  toStandardOutput,
  type Print,
  type TokenFormat,
} from './token-output.js';

const letters = containerLetters('table');

interface TableSasFlags extends ConnectionFlags, TermFlags, KeyRangeFlags {
  readonly table: string;
  readonly permissions?: string;
  readonly format: TokenFormat;
}

export function tableSasCommand(print: Print = toStandardOutput): Command {
  const command = new Command('table')
    .summary('make a token for the rows of one table')
    .description(
      'Make a shared access signature for the rows of one table. It is made from the account key ' +
        'alone: nothing is sent, and neither the table nor a policy has to exist yet.',
    )
    .addOption(tableOption())
    .addOption(permissionsOption(letters, '; to insert or replace takes a and u'))
    .addOption(policyOption('table'));
  withTermOptions(withKeyRangeOptions(command), sasVersions.service).addOption(tokenFormatOption());
  return withConnectionOptions(command, 'table')
    .addHelpText(
      'after',
      `
Examples:
  tabularium sas table -t people
  tabularium sas table -t people -p raud --expiry 7d --https-only
  tabularium sas table -t people -p r --start-pk Sales --end-pk Sales --format url
  tabularium sas table -t people --policy readers --format token`,
    )
    .action((flags: TableSasFlags) => {
      print(tableToken(flags, systemClock.nowMicros()));
    });
}

function tableToken(flags: TableSasFlags, nowMicros: number): string {
  const { table, policy: identifier, format } = flags;
  const connection = connectionOf(flags, 'table');
  const permissions = permissionsOrPolicy(flags);
  const terms = termsOf(flags, nowMicros);
  const range = keyRangeOf(flags);
  const fields = { kind: 'table-sas', table, permissions, identifier, ...terms, ...range } as const;
  const token = signTableSas(fields, signerOf(connection));
  const may = permissions === undefined ? 'touch' : inWords(permissions, letters);
  return tokenText(
    {
      token,
      urls: [['url', `${connection.endpoint}/${table}?${token}`]],
      allows:
        `${may} rows of the table ${table}${rangeInWords(range)}` +
        `${termsInWords(terms, nowMicros)}${policyInWords(identifier)}`,
    },
    format,
  );
}
