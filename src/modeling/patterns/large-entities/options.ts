import type { Clock } from '../../../base/clock.js';
import type { ContentionOptions } from '../../table/contention.js';
import { binaryBytesMax, stringUnitsMax } from '../../rows/row-size.js';
import type { BlobPort } from './blob-port.js';
import type { ValueEncoding } from './compression.js';

/** A property whose value is always in a blob, as it is: its address can be given to a browser. */
export interface BlobPlace {
  readonly at: 'blob';
  /** Such as `image/jpeg`; `application/octet-stream` when absent. */
  readonly contentType?: string;
}

/** `attemptsMax`, `randomness` and `timers` are for writes that others overtake. */
export interface LargeOptions extends ContentionOptions {
  /**
   * Names on the wire of the properties that may be large; every String and Binary when absent.
   * A `select` without any of them then transfers nothing of large values.
   */
  readonly properties?: readonly string[];
  /** Longest String in UTF-16 code units that stays a property of its own; 32,768. */
  readonly stringUnitsInline?: number;
  /** Longest Binary in bytes that does; 65,536. */
  readonly binaryBytesInline?: number;
  /**
   * How large an entity may get, with its parts, before values are compressed or put elsewhere;
   * 1,000,000 bytes. What is left to 1 MiB is for merges.
   */
  readonly entityBytesMax?: number;
  /** `br` when absent. Values that do not get smaller stay as they are. */
  readonly compression?: ValueEncoding;
  /** Compresses every value longer than its inline limit, not only what would not fit otherwise. */
  readonly compressAlways?: boolean;
  /** Whether rows beside the entity may hold values; true. */
  readonly useRows?: boolean;
  /** Where what is larger still goes. Without it, such values are refused. */
  readonly blobs?: BlobPort;
  /** Before the names of blobs; `large/`. */
  readonly blobPrefix?: string;
  /** Properties with a place of their own, by name on the wire. */
  readonly places?: Readonly<Record<string, BlobPlace>>;
  /**
   * How old an unreferenced blob must be before `verifyLargeValues` takes it for abandoned; an
   * hour. A write that takes more than half of it from its first blob to its entity gives up.
   */
  readonly graceMs?: number;
  /** Values fetched at the same time by a query; 8. */
  readonly concurrency?: number;
  readonly clock?: Clock;
}

/** The thresholds of a layout. */
export interface LargeLimits {
  readonly candidates: ReadonlySet<string> | undefined;
  readonly stringUnitsInline: number;
  readonly binaryBytesInline: number;
  readonly entityBytesMax: number;
  readonly compression: ValueEncoding;
  readonly compressAlways: boolean;
  readonly useRows: boolean;
  readonly useBlobs: boolean;
  readonly blobPrefix: string;
  readonly places: Readonly<Record<string, BlobPlace>>;
}

export function limitsOf(options: LargeOptions): LargeLimits {
  const { properties, places = {}, blobs } = options;
  return {
    candidates: properties === undefined ? undefined : new Set(properties),
    stringUnitsInline: Math.min(options.stringUnitsInline ?? stringUnitsMax, stringUnitsMax),
    binaryBytesInline: Math.min(options.binaryBytesInline ?? binaryBytesMax, binaryBytesMax),
    entityBytesMax: options.entityBytesMax ?? 1_000_000,
    compression: options.compression ?? 'br',
    compressAlways: options.compressAlways ?? false,
    useRows: options.useRows ?? true,
    useBlobs: blobs !== undefined,
    blobPrefix: options.blobPrefix ?? 'large/',
    places,
  };
}
