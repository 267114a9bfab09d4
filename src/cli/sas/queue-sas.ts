import { Command } from 'commander';
import { systemClock } from '../../base/clock.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signQueueSas } from '../../wire/auth/sas/sas-signature.js';
import { queueOption, withConnectionOptions } from '../client/connection-options.js';
import { containerLetters } from './permission-letters.js';
import { permissionsOption } from './permissions-option.js';
import { serviceToken, type ServiceTokenFlags } from './service-token.js';
import { policyOption, withTermOptions } from './term-options.js';
import { tokenFormatOption, toStandardOutput, type Print } from './token-output.js';

const letters = containerLetters('queue');

interface QueueSasFlags extends ServiceTokenFlags {
  readonly queue: string;
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
  const { queue } = flags;
  return serviceToken(flags, nowMicros, {
    service: 'queue',
    path: queue,
    what: `messages of the queue ${queue}`,
    sign: (fields, signer) => signQueueSas(fields, queue, signer),
  });
}
