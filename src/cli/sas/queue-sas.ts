import { Command } from 'commander';
import { systemClock } from '../../base/clock.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signQueueSas } from '../../wire/auth/sas/sas-signature.js';
import {
  connectionOf,
  queueOption,
  withConnectionOptions,
  type ConnectionFlags,
} from '../client/connection-options.js';
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

const letters = containerLetters('queue');

interface QueueSasFlags extends ConnectionFlags, TermFlags {
  readonly queue: string;
  readonly permissions?: string;
  readonly format: TokenFormat;
}

export function queueSasCommand(print: Print = toStandardOutput): Command {
  const command = new Command('queue')
    .summary('make a token for the messages of one queue')
    .description(
      'Make a shared access signature for the messages of one queue. It is made from the account ' +
        'key alone: nothing is sent, and neither the queue nor a policy has to exist yet.',
    )
    .addOption(queueOption())
    .addOption(permissionsOption(letters))
    .addOption(policyOption('queue'));
  withTermOptions(command, sasVersions.service).addOption(tokenFormatOption());
  return withConnectionOptions(command, 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium sas queue -q work -p a --expiry 30d
  tabularium sas queue -q work -p raup --ip 10.0.0.1-10.0.0.9 --https-only
  tabularium sas queue -q work --policy consumers --format url`,
    )
    .action((flags: QueueSasFlags) => {
      print(queueToken(flags, systemClock.nowMicros()));
    });
}

function queueToken(flags: QueueSasFlags, nowMicros: number): string {
  const { queue, policy: identifier, format } = flags;
  const connection = connectionOf(flags, 'queue');
  const permissions = permissionsOrPolicy(flags);
  const terms = termsOf(flags, nowMicros);
  const fields = { kind: 'queue-sas', permissions, identifier, ...terms } as const;
  const token = signQueueSas(fields, queue, signerOf(connection));
  const may = permissions === undefined ? 'touch' : inWords(permissions, letters);
  return tokenText(
    {
      token,
      urls: [['url', `${connection.endpoint}/${queue}?${token}`]],
      allows:
        `${may} messages of the queue ${queue}${termsInWords(terms, nowMicros)}` +
        policyInWords(identifier),
    },
    format,
  );
}
