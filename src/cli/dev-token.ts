import { Command, Option } from 'commander';
import { systemClock } from '../base/clock.js';
import { storageAudience } from '../http/oauth/audience.js';
import type { DevClaims } from './issuer/dev-issuer.js';
import { defaultDevKeysFolder, devIssuer } from './issuer/dev-issuer-location.js';
import { duration, repeated } from './arguments/option-parsers.js';

interface DevTokenFlags {
  readonly keys: string;
  readonly issuer: string;
  readonly audience: string;
  readonly role?: readonly string[];
  readonly scope?: readonly string[];
  readonly subject: string;
  readonly lifetime: number;
  readonly json?: boolean;
  readonly jwks?: boolean;
}

const daySeconds = 86_400;
const defaultRoles = ['Table', 'Queue', 'Blob'].map(
  (service) => `Storage ${service} Data Contributor`,
);

export function devTokenCommand(): Command {
  return new Command('dev-token')
    .summary('print a bearer token of a local issuer, for tests')
    .description(
      'Print a bearer token that a server with --oauth dev accepts, so that programs with token ' +
        'credentials can be tried without a cloud. The key that signs is made at the first use.',
    )
    .addOption(
      new Option('--keys <directory>', 'where the key of the local issuer is kept')
        .env('TABULARIUM_DEV_ISSUER')
        .default(defaultDevKeysFolder),
    )
    .option('--issuer <url>', 'the claim iss', devIssuer)
    .option('--audience <text>', 'the claim aud', storageAudience)
    .option(
      '--role <name>',
      'a role of the bearer; may be repeated. Default, without --scope: ' +
        defaultRoles.map((role) => `"${role}"`).join(', '),
      repeated,
    )
    .option('--scope <name>', 'a scope of the token, such as read; may be repeated', repeated)
    .option('--subject <id>', 'whose token it is', '00000000-0000-0000-0000-000000000001')
    .addOption(
      new Option('--lifetime <time>', 'how long it is good, such as 10m or 8h')
        .argParser(duration(1, 30 * daySeconds))
        .default(3600, '1h'),
    )
    .addOption(
      new Option(
        '--json',
        'print {"token", "expiresOnTimestamp"}, as getToken returns it',
      ).conflicts('jwks'),
    )
    .option('--jwks', 'print the public key as a JSON Web Key Set instead, for --oauth-jwks')
    .addHelpText(
      'after',
      `
Examples:
  tabularium start --tls self-signed --oauth dev
  tabularium dev-token
  tabularium dev-token --role "Storage Table Data Reader" --lifetime 10m
  tabularium dev-token --jwks > jwks.json`,
    )
    .action(devToken);
}

async function devToken(flags: DevTokenFlags): Promise<void> {
  const { openDevIssuer, signDevToken } = await import('./issuer/dev-issuer.js');
  const issuer = await openDevIssuer(flags.keys);
  if (flags.jwks === true) {
    process.stdout.write(issuer.jwks);
    return;
  }
  const claims = claimsOf(flags);
  const token = await signDevToken(issuer, claims);
  const expiresOnTimestamp = claims.expires * 1000;
  const text = flags.json === true ? JSON.stringify({ token, expiresOnTimestamp }) : token;
  process.stdout.write(`${text}\n`);
}

function claimsOf({ issuer, audience, subject, lifetime, ...names }: DevTokenFlags): DevClaims {
  const { scope: scopes = [], role: roles = scopes.length === 0 ? defaultRoles : [] } = names;
  const issuedAt = Math.floor(systemClock.nowMicros() / 1e6);
  return { issuer, audience, subject, roles, scopes, issuedAt, expires: issuedAt + lifetime };
}
