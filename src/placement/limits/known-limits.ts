import type { KnownLimit, KnownSystem, LimitQuery, LimitSource } from './known-limit.js';

/** Name, value, unit, and the tier unless it is every one. */
type Figure = readonly [name: string, value: number, unit: string, tier?: string];

/** When the guidance was published, and the day the documentation was read. */
export const limitDates = {
  guidance: '2016-07-13',
  documentation: '2026-11-23',
} as const;

function figures(
  system: KnownSystem,
  source: keyof typeof limitDates,
  rows: readonly Figure[],
): readonly KnownLimit[] {
  return rows.map(([name, value, unit, tier]) =>
    Object.freeze({ system, name, value, unit, source, asOf: limitDates[source], tier }),
  );
}

const kib = 1024;
const mib = 1024 * kib;
const gib = 1024 * mib;
const tib = 1024 * gib;
const megabyte = 1_000_000;

/**
 * Published figures, each with its source and date. Where the guidance and the present
 * documentation differ, both are listed. Figures change: treat them as published on their date, and
 * pass your own figures to functions that accept them.
 */
export const knownLimits: readonly KnownLimit[] = Object.freeze([
  ...figures('event-hubs', 'documentation', [
    ['partitions', 32, 'partitions', 'basic'],
    ['partitions', 32, 'partitions', 'standard'],
    ['partitions', 100, 'partitions', 'premium'],
    ['partitions-of-unit', 200, 'partitions', 'premium'],
    ['partitions', 1024, 'partitions', 'dedicated'],
    ...['basic', 'standard'].flatMap((tier): readonly Figure[] => [
      ['unit-bytes-in', megabyte, 'bytes/s', tier],
      ['unit-events-in', 1000, 'events/s', tier],
      ['unit-bytes-out', 2 * megabyte, 'bytes/s', tier],
      ['unit-events-out', 4096, 'events/s', tier],
    ]),
  ]),
  ...figures('cosmos-db', 'documentation', [
    ['logical-partition-bytes', 20 * gib, 'bytes'],
    ['logical-partition-rate', 10_000, 'RU/s'],
    ['key-bytes', 2 * kib, 'bytes', 'v2'],
    ['key-characters', 100, 'characters that tell keys apart', 'v1'],
    ['key-levels', 3, 'levels', 'multi-hash'],
    ['id-characters', 255, 'characters'],
  ]),
  ...figures('cosmos-db', 'guidance', [
    ['logical-partition-bytes', 10 * gib, 'bytes'],
    ['id-characters', 255, 'characters'],
  ]),
  ...figures('service-bus', 'documentation', [
    ['partitions', 16, 'partitions', 'basic'],
    ['partitions', 16, 'partitions', 'standard'],
    ['send-timeout', 15, 's, and more'],
  ]),
  ...figures('service-bus', 'guidance', [
    ['partitioned-entities', 100, 'partitioned queues and topics a namespace'],
  ]),
  ...figures('search', 'documentation', [
    ['partitions', 12, 'partitions', 'standard'],
    ['replicas', 12, 'replicas', 'standard'],
    ['units', 36, 'search units', 'standard'],
    ['partitions', 3, 'partitions', 'basic'],
    ['replicas', 3, 'replicas', 'basic'],
    ['units', 9, 'search units', 'basic'],
    ['partition-bytes', 15 * gib, 'bytes', 'basic'],
    ['read-replicas', 2, 'replicas for the SLA of reads'],
  ]),
  ...figures('search', 'guidance', [
    ['partitions', 12, 'partitions', 'standard'],
    ['replicas', 6, 'replicas', 'standard'],
    ['units', 36, 'search units', 'standard'],
    ['partition-documents', 15_000_000, 'documents', 'standard'],
    ['partition-bytes', 300 * gib, 'bytes', 'standard'],
    ['indexes', 50, 'indexes', 'standard'],
    ['replica-rate', 15, 'queries/s'],
  ]),
  ...figures('redis', 'documentation', [
    ['slots', 16_384, 'slots'],
    ['value-bytes', 512 * mib, 'bytes'],
    ['key-bytes', 512 * mib, 'bytes'],
  ]),
  ...figures('redis', 'guidance', [
    ['cache-bytes-least', 250 * mib, 'bytes'],
    ['cache-bytes', 53 * gib, 'bytes'],
    ['value-bytes', 512 * mib, 'bytes'],
  ]),
  ...figures('sql', 'documentation', [
    ['shard-key-bytes', 128, 'bytes'],
    ['databases', 5000, 'databases a server'],
  ]),
  ...figures('storage-account', 'documentation', [
    ['account-rate', 20_000, 'requests/s'],
    ['account-bytes', 500 * tib, 'bytes'],
  ]),
  ...figures('storage-account', 'guidance', [
    ['account-rate', 20_000, 'requests/s'],
    ['account-bytes', 500 * tib, 'bytes'],
    ['accounts', 200, 'accounts a subscription'],
  ]),
  ...figures('blob', 'documentation', [
    ['blob-rate', 500, 'requests/s'],
    ['large-block-bytes', 4 * mib, 'bytes', 'standard'],
    ['large-block-bytes', 256 * kib, 'bytes', 'premium'],
  ]),
  ...figures('blob', 'guidance', [
    ['blob-rate', 500, 'requests/s'],
    ['blob-bytes', 60 * megabyte, 'bytes/s'],
  ]),
  ...figures('queue', 'documentation', [
    ['queue-rate', 2000, 'messages/s'],
    ['message-bytes', 64 * kib, 'bytes'],
  ]),
  ...figures('queue', 'guidance', [
    ['queue-rate', 2000, 'messages/s'],
    ['message-bytes', 64 * kib, 'bytes'],
  ]),
  ...figures('table', 'documentation', [
    ['partition-rate', 2000, 'entities/s'],
    ['entity-bytes', mib, 'bytes'],
    ['group-entities', 100, 'entities'],
    ['group-bytes', 4 * mib, 'bytes'],
    ['table-bytes', 500 * tib, 'bytes'],
  ]),
  ...figures('table', 'guidance', [
    ['entity-bytes', mib, 'bytes'],
    ['group-entities', 100, 'entities'],
    ['group-bytes', 4 * mib, 'bytes'],
    ['table-bytes', 200 * tib, 'bytes'],
  ]),
]);

/**
 * The limits that other sources publish with another value: those of the same name, for the same
 * tier or for every tier. Messages should quote them beside the limit.
 */
export function differingLimits(limit: KnownLimit): readonly KnownLimit[] {
  const { system, name, value, source, tier } = limit;
  const others = knownLimits.filter(
    (other) =>
      other.system === system &&
      other.name === name &&
      other.source !== source &&
      other.value !== value &&
      (other.tier === undefined || tier === undefined || other.tier === tier),
  );
  return Object.freeze(others);
}

const ranks: Readonly<Record<LimitSource, number>> = { guidance: 0, documentation: 1, own: 2 };

/**
 * The figure that fits best: an own one before the documentation before the guidance, unless the
 * source is given, and among those of one source that of the tier before that of every tier.
 * Undefined: nothing is known. Of several that fit alike the last counts.
 */
export function limitOf(
  { system, name, tier, source }: LimitQuery,
  own: readonly KnownLimit[] = [],
): KnownLimit | undefined {
  const rank = (limit: KnownLimit): number =>
    2 * ranks[limit.source] + (limit.tier === undefined ? 0 : 1);
  let best: KnownLimit | undefined;
  for (const limit of [...knownLimits, ...own]) {
    if (limit.system !== system || limit.name !== name) continue;
    if (limit.tier !== undefined && limit.tier !== tier) continue;
    if (source !== undefined && limit.source !== source) continue;
    if (best === undefined || rank(limit) >= rank(best)) best = limit;
  }
  return best;
}
