/** A system that is partitioned by rules of its own. */
export type KnownSystem =
  | 'blob'
  | 'cosmos-db'
  | 'event-hubs'
  | 'queue'
  | 'redis'
  | 'search'
  | 'service-bus'
  | 'service-fabric'
  | 'sql'
  | 'storage-account'
  | 'table';

/**
 * `guidance`: the guidance on data partitioning; `documentation`: the pages of the service; `own`:
 * what a caller has measured or agreed on.
 */
export type LimitSource = 'guidance' | 'documentation' | 'own';

/** A published figure of a system, and when it was one. */
export interface KnownLimit {
  readonly system: KnownSystem;
  /** Unique within the system, its tier and its source, such as `partitions`. */
  readonly name: string;
  readonly value: number;
  /** What `value` counts, such as `bytes` or `requests/s`. */
  readonly unit: string;
  readonly source: LimitSource;
  /** For documentation the day it was read, for others the date they bear: `yyyy-mm-dd`. */
  readonly asOf: string;
  /** Undefined: every tier. */
  readonly tier: string | undefined;
}

export interface LimitQuery {
  readonly system: KnownSystem;
  readonly name: string;
  /** Figures of this tier, before those of every tier. */
  readonly tier?: string;
  /** Undefined: own figures, then the documentation, then the guidance. */
  readonly source?: LimitSource;
}

/** A limit with its source and date, for messages: `500 requests/s (guidance, 2016-07-13)`. */
export function limitText({ value, unit, source, asOf, tier }: KnownLimit): string {
  const of = tier === undefined ? '' : `${tier}, `;
  return `${value.toLocaleString('en-US')} ${unit} (${of}${source}, ${asOf})`;
}
