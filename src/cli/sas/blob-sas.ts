import { Command } from 'commander';
import { systemClock } from '../../base/clock.js';
import { sasVersions } from '../../wire/auth/sas/fields.js';
import { signBlobSas } from '../../wire/auth/sas/sas-signature.js';
import { blobPlace, placePath, placeText, type BlobPlace } from '../arguments/blob-place.js';
import {
  connectionOf,
  withConnectionOptions,
  type ConnectionFlags,
} from '../client/connection-options.js';
import { UsageError } from '../terminal/failure.js';
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

const letters = containerLetters('blob');

/** Letters for a container alone (blob-service §4.3). */
const lettersOfContainers = ['l', 'f'];

interface BlobSasFlags extends ConnectionFlags, TermFlags {
  readonly permissions?: string;
  readonly format: TokenFormat;
}

export function blobSasCommand(print: Print = toStandardOutput): Command {
  const command = new Command('blob')
    .summary('make a token for one blob, or for those of a container')
    .description(
      'Make a shared access signature for one blob, or for the blobs of a container. It is made ' +
        'from the account key alone: nothing is sent, and neither blob, container nor policy has ' +
        'to exist yet.',
    )
    .argument('<place>', 'container/name for a blob, or a container', blobPlace)
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
    .action((place: BlobPlace, flags: BlobSasFlags) => {
      print(blobToken(place, flags, systemClock.nowMicros()));
    });
}

function blobToken(place: BlobPlace, flags: BlobSasFlags, nowMicros: number): string {
  const { policy: identifier, format } = flags;
  const connection = connectionOf(flags, 'blob');
  const permissions = permissionsOrPolicy(flags);
  const { blob } = place;
  if (blob !== undefined) refuseLettersOfContainers(permissions);
  const terms = termsOf(flags, nowMicros);
  const resource = blob === undefined ? 'c' : 'b';
  const fields = {
    kind: 'blob-sas',
    permissions,
    identifier,
    resource,
    responseHeaders: {},
    ...terms,
  } as const;
  const token = signBlobSas(fields, place, signerOf(connection));
  const may = permissions === undefined ? 'touch' : inWords(permissions, letters);
  const what = blob === undefined ? 'blobs of the container' : 'the blob';
  return tokenText(
    {
      token,
      urls: [['url', `${connection.endpoint}/${placePath(place)}?${token}`]],
      allows:
        `${may} ${what} ${placeText(place)}${termsInWords(terms, nowMicros)}` +
        policyInWords(identifier),
    },
    format,
  );
}

function refuseLettersOfContainers(permissions: string | undefined): void {
  const letter = lettersOfContainers.find((each) => permissions?.includes(each));
  if (letter === undefined) return;
  throw new UsageError(
    `The letter ${letter} is for a container, not for a blob: leave out the name of the blob, ` +
      'or the letter.',
  );
}
