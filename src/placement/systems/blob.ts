import type { KnownLimit } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { bucketOf } from '../hashes/text-hash.js';
import { refused, type Refusal } from './refusal.js';

// Blobs: ranges of account, container and name, which the service cuts itself. Names decide whether
// the load of new blobs falls on one of them.

export interface BlobAddress {
  readonly account: string;
  readonly container: string;
  readonly name: string;
}

/** The text by whose order blobs are cut into ranges. Each blob is a partition of its own. */
export function blobPartitionKey({ account, container, name }: BlobAddress): string {
  return `${account}/${container}/${name}`;
}

/**
 * `dates-first`, `numbers-first`: names ascend, so all new blobs come into one range. `spread`:
 * names do not ascend. `unknown`: too few names to tell.
 */
export interface NameAdvice {
  readonly kind: 'dates-first' | 'numbers-first' | 'spread' | 'unknown';
  /** The common prefix of the names. */
  readonly prefix: string;
  /** A sentence for people. */
  readonly advice: string;
}

/** With fewer names nothing is said. */
const namesLeast = 3;

/**
 * Fewer numbers are too often in order by chance, as hashes are: of three one time in three, of
 * five one time in sixty.
 */
const numbersLeast = 5;

/** Advice about names, which are given in the order in which blobs are made. */
export function blobNameAdvice(names: readonly string[]): NameAdvice {
  const [first = ''] = names;
  const common = commonPrefix(names);
  const say = (kind: NameAdvice['kind'], prefix: string, advice: string): NameAdvice =>
    Object.freeze({ kind, prefix, advice });
  if (names.length < namesLeast) {
    return say('unknown', common, more);
  }
  const isRising = names.every((name, index) => (names[index - 1] ?? '') < name);
  const isFalling = names.every((name, index) => index === 0 || (names[index - 1] ?? '') > name);
  if (!isRising && !isFalling) return say('spread', common, 'New blobs come into many ranges.');
  const where = (prefix: string): string => (prefix === '' ? 'Names' : `Names behind '${prefix}'`);
  const dateAt = datePattern.exec(first)?.index;
  const isDated = (name: string): boolean => datePattern.exec(name)?.index === dateAt;
  if (dateAt !== undefined && dateAt <= common.length && names.every(isDated)) {
    const prefix = common.slice(0, dateAt);
    const how = 'put the seconds first (ssyyyymmdd), or a hash of three digits';
    return say('dates-first', prefix, `${where(prefix)} begin with the date of writing: ${how}.`);
  }
  const prefix = common.replace(/\d+$/, '');
  if (names.every((name) => /\d/.test(name.charAt(prefix.length)))) {
    if (names.length < numbersLeast) return say('unknown', common, more);
    const how = 'put a hash of three digits first';
    return say('numbers-first', prefix, `${where(prefix)} grow with each blob: ${how}.`);
  }
  return say('spread', prefix, 'The names are in order, but begin with no number or date.');
}

const more = 'Give more names, in the order of writing.';

/** A year, a month and a day in this order, with or without something between them. */
const datePattern = /(?<!\d)(?:19|20)\d\d[-_/.]?(?:0[1-9]|1[0-2])[-_/.]?(?:0[1-9]|[12]\d|3[01])/;

function commonPrefix([first = '', ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) {
    let same = 0;
    while (same < length && other[same] === first[same]) same++;
    length = same;
  }
  return first.slice(0, length);
}

const hashes = 1000;

/** A name behind a hash of three digits, which spreads names that grow. */
export function hashedBlobName(name: string): string {
  return `${String(bucketOf(name, hashes)).padStart(3, '0')}-${name}`;
}

/**
 * A moment as `ssyyyymmddhhmm`, in UTC: seconds first, so that following blobs are apart. Refused:
 * what is no moment of the years 0 to 9999.
 */
export function secondsFirst(
  moment: Date,
): { readonly kind: 'text'; readonly text: string } | Refusal {
  const ms = moment.getTime();
  if (!(ms >= yearsFromMs && ms < yearsBeforeMs)) {
    return refused('bad-key', `${ms} is no moment of the years 0 to 9999`);
  }
  const digits = moment.toISOString().replaceAll(/\D/g, '');
  return Object.freeze({ kind: 'text', text: `${digits.slice(12, 14)}${digits.slice(0, 12)}` });
}

/** The years that have four digits. */
const yearsFromMs = Date.parse('0000-01-01T00:00:00.000Z');
const yearsBeforeMs = Date.parse('+010000-01-01T00:00:00.000Z');

/**
 * Whether blocks of a size are stored without regard to ranges of names, so that names need no
 * care: beyond 4 MiB, or 256 KiB of a premium account.
 */
export function isLargeBlock(
  bytes: number,
  tier: 'standard' | 'premium' = 'standard',
  own: readonly KnownLimit[] = [],
): boolean {
  const limit = limitOf({ system: 'blob', name: 'large-block-bytes', tier }, own);
  return limit !== undefined && bytes > limit.value;
}
