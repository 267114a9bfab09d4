import { Command } from 'commander';
import { systemClock } from '../../base/clock.js';
import { letterOf } from '../../model/services/permission.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signBlobSas } from '../../wire/auth/sas/sas-signature.js';
import {
  blobLocation,
  locationPath,
  locationText,
  type BlobLocation,
} from '../arguments/blob-location.js';
import { withConnectionOptions } from '../client/connection-options.js';
import { UsageError } from '../terminal/failure.js';
import { containerLetters } from './permission-letters.js';
import { permissionsOption } from './permissions-option.js';
import { serviceToken, type ServiceTokenFlags } from './service-token.js';
import { policyOption, withTermOptions } from './term-options.js';
import { tokenFormatOption, toStandardOutput, type Print } from './token-output.js';

const letters = containerLetters('blob');

/** Letters for a container alone (blob-service §4.3). */
const lettersOfContainers = (['list', 'find'] as const).map(letterOf);

export function blobSasCommand(print: Print = toStandardOutput): Command {
  const command = new Command('blob')
    .summary('make a token for one blob, or for those of a container')
    .description(
      'Make a shared access signature for one blob, or for the blobs of a container. It is made ' +
        'from the account key alone: nothing is sent, and neither blob, container nor policy has ' +
        'to exist yet.',
    )
    .argument('<place>', 'container/name for a blob, or a container', blobLocation)
    .addOption(permissionsOption(letters))
    .addOption(policyOption('container'));
  withTermOptions(command, sasVersions.service).addOption(tokenFormatOption());
  return withConnectionOptions(command, 'blob')
    .addHelpText(
      'after',
      `
Examples:
  tabularium sas blob photos/2030/cat.jpg --expiry 30d --format url
  tabularium sas blob photos -p rl --https-only
  tabularium sas blob photos --policy visitors`,
    )
    .action((place: BlobLocation, flags: ServiceTokenFlags) => {
      print(blobToken(place, flags, systemClock.nowMicros()));
    });
}

function blobToken(place: BlobLocation, flags: ServiceTokenFlags, nowMicros: number): string {
  const isBlob = place.blob !== undefined;
  if (isBlob) refuseLettersOfContainers(flags.permissions);
  const resource = isBlob ? 'b' : 'c';
  return serviceToken(flags, nowMicros, {
    service: 'blob',
    path: locationPath(place),
    what: `${isBlob ? 'the blob' : 'blobs of the container'} ${locationText(place)}`,
    sign: (fields, signer) =>
      signBlobSas({ resource, responseHeaders: {}, ...fields }, place, signer),
  });
}

function refuseLettersOfContainers(permissions: string | undefined): void {
  const letter = lettersOfContainers.find((each) => permissions?.includes(each));
  if (letter === undefined) return;
  throw new UsageError(
    `The letter ${letter} is for a container, not for a blob: leave out the name of the blob, ` +
      'or the letter.',
  );
}
