import { InvalidArgumentError, Option, type Command } from 'commander';
import { sasIdentifierLengthMax, sasVersions } from '../../wire/auth/sas/fields.js';
import { parseIpRange } from '../../wire/auth/sas/ip-range.js';
import { parseSasTime } from '../../wire/auth/sas/terms.js';
import { defaultApiVersion } from '../../wire/http/api-versions.js';
import { UsageError } from '../terminal/failure.js';
import { duration } from '../arguments/option-parsers.js';

/** A time: microseconds since 1970, or seconds after the start of the command. */
type ExpiryTime = { readonly atMicros: number } | { readonly afterSeconds: number };

/** The validity of a token, as flags. */
export interface TermFlags {
  readonly start?: number;
  readonly expiry?: ExpiryTime;
  readonly policy?: string;
  readonly ip?: string;
  readonly httpsOnly?: boolean;
  readonly sv: string;
}

/** The options as fields of a signature. */
export interface Terms {
  readonly version: string;
  readonly start: string | undefined;
  readonly expiry: string | undefined;
  readonly ip: string | undefined;
  readonly protocol: string | undefined;
}

const defaultExpirySeconds = 3600;
const expirySecondsMax = 100 * 365 * 86_400;

/** `oldest`: the first version with signatures of this kind. */
export function withTermOptions(command: Command, oldest: string): Command {
  return command
    .addOption(
      new Option(
        '--expiry <time>',
        'until when it is valid: a UTC time such as 2030-01-31T12:00Z, or how long: 90m, 12h, 7d ' +
          '(default: 1h)',
      ).argParser(expiryTimeOf),
    )
    .addOption(
      new Option(
        '--start <time>',
        'from when it is valid, a UTC time (default: at once)',
      ).argParser(startMicros),
    )
    .addOption(
      new Option('--ip <range>', 'who may use it: an IPv4 address, or a range a-b').argParser(
        ipRange,
      ),
    )
    .option('--https-only', 'valid over https alone')
    .addOption(
      new Option('--sv <version>', 'the version of the service that the token is made for')
        .argParser(versionFrom(oldest))
        .default(defaultApiVersion),
    );
}

export function policyOption(noun: string): Option {
  return new Option(
    '--policy <id>',
    `a stored access policy of the ${noun}; it says what the token leaves out, and changing it ` +
      'changes what the token allows',
  ).argParser(policyId);
}

function policyId(text: string): string {
  if (/^[^\n]+$/.test(text) && text.length <= sasIdentifierLengthMax) return text;
  throw new InvalidArgumentError(`It must have 1 to ${sasIdentifierLengthMax} characters.`);
}

/** The end of the year 9999, the latest time of the format. */
const microsMax = Date.UTC(9999, 11, 31, 23, 59, 59) * 1000;

function timeOf(text: string): number | undefined {
  const micros = parseSasTime(text);
  return micros === undefined || micros < 0 || micros > microsMax ? undefined : micros;
}

function startMicros(text: string): number {
  const micros = timeOf(text);
  if (micros !== undefined) return micros;
  throw new InvalidArgumentError('It must be a UTC time such as 2030-01-31 or 2030-01-31T12:00Z.');
}

function expiryTimeOf(text: string): ExpiryTime {
  const micros = timeOf(text);
  if (micros !== undefined) return { atMicros: micros };
  if (/^\d+[smhd]?$/.test(text)) return { afterSeconds: duration(1, expirySecondsMax)(text) };
  throw new InvalidArgumentError(
    'It must be a UTC time such as 2030-01-31 or 2030-01-31T12:00Z, or a duration such as 90m, ' +
      '12h or 7d.',
  );
}

function ipRange(text: string): string {
  if (parseIpRange(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'It must be an IPv4 address such as 10.0.0.1, or a range, lower end first: 10.0.0.1-10.0.0.9.',
  );
}

function versionFrom(oldest: string): (text: string) => string {
  return (text) => {
    if (/^\d{4}-\d\d-\d\d$/.test(text) && text >= oldest) return text;
    throw new InvalidArgumentError(
      `It must be a version such as ${defaultApiVersion}, not before ${oldest}.`,
    );
  };
}

/**
 * The fields of a signature. With a stored policy there is no default expiry. Throws `UsageError`
 * for a token that could never be used.
 */
export function termsOf(flags: TermFlags, nowMicros: number): Terms {
  const expiryMicros = expiryOf(flags, nowMicros);
  const start = flags.start === undefined ? undefined : secondText(flags.start);
  const expiry = expiryMicros === undefined ? undefined : secondText(expiryMicros);
  if (start !== undefined && expiry !== undefined && start >= expiry) {
    throw new UsageError(`The expiry ${expiry} is not after the start ${start}.`);
  }
  const protocol = flags.httpsOnly === true ? 'https' : undefined;
  if ((flags.ip !== undefined || protocol !== undefined) && flags.sv < sasVersions.account) {
    throw new UsageError(`--ip and --https-only need --sv ${sasVersions.account} or later.`);
  }
  return { version: flags.sv, start, expiry, ip: flags.ip, protocol };
}

function expiryOf({ expiry, policy }: TermFlags, nowMicros: number): number | undefined {
  if (expiry === undefined) {
    return policy === undefined ? nowMicros + defaultExpirySeconds * 1_000_000 : undefined;
  }
  return 'atMicros' in expiry ? expiry.atMicros : nowMicros + expiry.afterSeconds * 1_000_000;
}

/** To the second, as the official clients write it. */
function secondText(micros: number): string {
  return `${new Date(micros / 1000).toISOString().slice(0, 19)}Z`;
}
