import { Command } from 'commander';
import { systemClock } from '../../base/clock.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signTableSas } from '../../wire/auth/sas/sas-signature.js';
import { tableOption, withConnectionOptions } from '../client/connection-options.js';
import {
  keyRangeOf,
  rangeInWords,
  withKeyRangeOptions,
  type KeyRangeFlags,
} from './key-range-options.js';
import { containerLetters } from './permission-letters.js';
import { permissionsOption } from './permissions-option.js';
import { serviceToken, type ServiceTokenFlags } from './service-token.js';
import { policyOption, withTermOptions } from './term-options.js';
import { tokenFormatOption, toStandardOutput, type Print } from './token-output.js';

const letters = containerLetters('table');

interface TableSasFlags extends ServiceTokenFlags, KeyRangeFlags {
  readonly table: string;
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
  const { table } = flags;
  const range = keyRangeOf(flags);
  return serviceToken(flags, nowMicros, {
    service: 'table',
    path: table,
    what: `rows of the table ${table}${rangeInWords(range)}`,
    sign: (fields, signer) => signTableSas({ table, ...fields, ...range }, signer),
  });
}
