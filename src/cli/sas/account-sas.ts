import { Command, Option } from 'commander';
import { systemClock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { letterOf, scopeLetters } from '../../model/services/permission.js';
import {
  endpointMember,
  serviceNames,
  services as descriptors,
  type ServiceName,
} from '../../model/services/services.js';
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

interface ServiceConnection {
  readonly service: ServiceName;
  readonly connection: Connection;
}

export function accountSasCommand(print: Print = toStandardOutput): Command {
  const command = new Command('account')
    .summary('make a token for all that an account has')
    .description(
      'Make a shared access signature for the services of an account. It is made from the account ' +
        'key alone: nothing is sent.',
    )
    .addOption(
      new Option('--services <letters>', `where: ${explained(serviceLetters)}`)
        .argParser(lettersOf(serviceLetters))
        .default(serviceLetters.map(([letter]) => letter).join('')),
    )
    .addOption(
      new Option('--resource-types <letters>', `on what: ${explained(resourceTypeLetters)}`)
        .argParser(lettersOf(resourceTypeLetters))
        .default(Object.keys(scopeLetters).join('')),
    )
    .addOption(
      new Option('-p, --permissions <letters>', `what it allows: ${explained(accountLetters)}`)
        .argParser(lettersOf(accountLetters))
        .default((['read', 'list'] as const).map(letterOf).join('')),
    );
  withTermOptions(command, sasVersions.account).addOption(tokenFormatOption());
  return withConnectionOptions(command, ...serviceNames)
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
  const { services: letters, resourceTypes, permissions, format } = flags;
  const connections = serviceNames
    .filter((service) => letters.includes(descriptors[service].signature.letter))
    .map((service) => ({ service, connection: connectionOf(flags, service) }));
  const [first] = connections;
  invariant(first !== undefined, 'the letters of services are not empty');
  const signer = signerOf(first.connection);
  const terms = termsOf(flags, nowMicros);
  const fields = { services: letters, resourceTypes, permissions, ...terms };
  const token = signAccountSas(fields, signer);
  return tokenText(
    {
      token,
      ...addressesWith(token, connections),
      allows:
        `${inWords(permissions, accountLetters)} (${inWords(resourceTypes, resourceTypeLetters)}) ` +
        `in the services ${inWords(letters, serviceLetters)}${termsInWords(terms, nowMicros)}`,
    },
    format,
  );
}

/** The URLs and the connection string for the services of a token. */
function addressesWith(
  token: string,
  connections: readonly ServiceConnection[],
): Required<Pick<MadeToken, 'urls' | 'connectionString'>> {
  const endpoints = connections.map(
    ({ service, connection }) => `${endpointMember(service)}=${connection.endpoint};`,
  );
  return {
    urls: connections.map(({ service, connection }) => [
      `${service}Url`,
      `${connection.endpoint}?${token}`,
    ]),
    connectionString: `${endpoints.join('')}SharedAccessSignature=${token}`,
  };
}
