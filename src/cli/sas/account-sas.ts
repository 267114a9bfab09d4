import { Command, Option } from 'commander';
import { systemClock } from '../../base/clock.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signAccountSas } from '../../wire/auth/sas/sas-signature.js';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from '../client/connection-options.js';
import type { Connection } from '../client/connection.js';
import {
  accountLetters,
  explained,
  inWords,
  lettersOf,
  resourceTypeLetters,
  serviceLetters,
} from './permission-letters.js';
import { signerOf } from './signer.js';
import { termsOf, withTermOptions, type TermFlags } from './term-options.js';
import {
  termsInWords,
  tokenFormatOption,
  tokenText,
  type MadeToken,
  toStandardOutput,
  type Print,
  type TokenFormat,
} from './token-output.js';

interface AccountSasFlags extends ConnectionFlags, TermFlags {
  readonly services: string;
  readonly resourceTypes: string;
  readonly permissions: string;
  readonly format: TokenFormat;
}

export function accountSasCommand(print: Print = toStandardOutput): Command {
  const command = new Command('account')
    .summary('make a token for all tables and queues of an account')
    .description(
      'Make a shared access signature for the services of an account. It is made from the account ' +
        'key alone: nothing is sent.',
    )
    .addOption(
      new Option('--services <letters>', `where: ${explained(serviceLetters)}`)
        .argParser(lettersOf(serviceLetters))
        .default('tq'),
    )
    .addOption(
      new Option('--resource-types <letters>', `on what: ${explained(resourceTypeLetters)}`)
        .argParser(lettersOf(resourceTypeLetters))
        .default('sco'),
    )
    .addOption(
      new Option('-p, --permissions <letters>', `what it allows: ${explained(accountLetters)}`)
        .argParser(lettersOf(accountLetters))
        .default('rl'),
    );
  withTermOptions(command, sasVersions.account).addOption(tokenFormatOption());
  return withConnectionOptions(command, 'table', 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium sas account
  tabularium sas account --services t -p rwdlacu --expiry 12h
  tabularium sas account --resource-types o -p rap --https-only --format json`,
    )
    .action((flags: AccountSasFlags) => {
      print(accountToken(flags, systemClock.nowMicros()));
    });
}

function accountToken(flags: AccountSasFlags, nowMicros: number): string {
  const { services, resourceTypes, permissions, format } = flags;
  const table = services.includes('t') ? connectionOf(flags, 'table') : undefined;
  const queue = services.includes('q') ? connectionOf(flags, 'queue') : undefined;
  const signer = signerOf(table ?? queue ?? connectionOf(flags, 'table'));
  const terms = termsOf(flags, nowMicros);
  const fields = { kind: 'account-sas', services, resourceTypes, permissions, ...terms } as const;
  const token = signAccountSas(fields, signer);
  return tokenText(
    {
      token,
      ...waysIn(token, table, queue),
      allows:
        `${inWords(permissions, accountLetters)} (${inWords(resourceTypes, resourceTypeLetters)}) ` +
        `in the services ${inWords(services, serviceLetters)}${termsInWords(terms, nowMicros)}`,
    },
    format,
  );
}

/** The URLs and the connection string of the services that a token is for. */
function waysIn(
  token: string,
  table: Connection | undefined,
  queue: Connection | undefined,
): Required<Pick<MadeToken, 'urls' | 'connectionString'>> {
  const urls: MadeToken['urls'][number][] = [];
  let connectionString = '';
  if (table !== undefined) {
    urls.push(['tableUrl', `${table.endpoint}?${token}`]);
    connectionString += `TableEndpoint=${table.endpoint};`;
  }
  if (queue !== undefined) {
    urls.push(['queueUrl', `${queue.endpoint}?${token}`]);
    connectionString += `QueueEndpoint=${queue.endpoint};`;
  }
  return { urls, connectionString: `${connectionString}SharedAccessSignature=${token}` };
}
