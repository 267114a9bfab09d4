import { Option } from 'commander';
import { unreachable } from '../../base/invariant.js';
import { serviceNames, services, type ServiceName } from '../../model/services/services.js';
import { jsonLine, printable } from '../terminal/terminal.js';
import type { Terms } from './term-options.js';

export const tokenFormats = ['text', 'url', 'token', 'json'] as const;
export type TokenFormat = (typeof tokenFormats)[number];

/** `url` of the token's container, or of a service. */
type UrlName = 'url' | `${ServiceName}Url`;

/** The output of a command. */
export interface MadeToken {
  /** The query string, without a question mark. */
  readonly token: string;
  /** The URLs with the token, by their name in the output. */
  readonly urls: readonly (readonly [name: UrlName, url: string])[];
  /** For clients that accept one; only for account tokens. */
  readonly connectionString?: string;
  /** The permissions, in a sentence. */
  readonly allows: string;
}

export function tokenFormatOption(): Option {
  return new Option(
    '-o, --format <format>',
    'what to print: all as text, the URL alone, the token alone, or all as JSON',
  )
    .choices(tokenFormats)
    .default('text');
}

/** Prints text. */
export type Print = (text: string) => void;

export function toStandardOutput(text: string): void {
  process.stdout.write(text);
}

/** The printed text. */
export function tokenText(made: MadeToken, format: TokenFormat): string {
  const { token, urls, connectionString, allows } = made;
  switch (format) {
    case 'url':
      return lines(urls.map(([, url]) => url));
    case 'token':
      return lines([token]);
    case 'json': {
      const connection = connectionString === undefined ? {} : { connectionString };
      return lines([jsonLine({ token, ...Object.fromEntries(urls), ...connection, allows })]);
    }
    case 'text': {
      const rows: [string, string][] = urls.map(([name, url]) => [labelOf(name), url]);
      rows.push(['Token', token]);
      if (connectionString !== undefined) rows.push(['Connection', connectionString]);
      rows.push(['Allows', allows]);
      return lines(rows.map(([label, text]) => `${label.padEnd(11)} ${printable(text)}`));
    }
    default:
      return unreachable(format);
  }
}

function labelOf(name: UrlName): string {
  const service = serviceNames.find((each) => name === `${each}Url`);
  return service === undefined ? 'URL' : `${services[service].title} URL`;
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

/** `, until …, for 10.0.0.1, over https only`. */
export function termsInWords({ start, expiry, ip, protocol }: Terms, nowMicros: number): string {
  let text = '';
  if (start !== undefined) text += `, from ${start}`;
  if (expiry !== undefined) text += `, until ${expiry}`;
  if (expiry !== undefined && Date.parse(expiry) * 1000 <= nowMicros) text += ' (in the past)';
  if (ip !== undefined) text += `, for ${ip}`;
  if (protocol !== undefined) text += `, over ${protocol} only`;
  return text;
}
