import type { Clock } from '../../../base/clock.js';
import type { ContentionOptions } from '../../table/contention.js';
import { DefinitionError } from '../../rows/model-error.js';
import { binaryBytesMax, stringUnitsMax } from '../../rows/row-size.js';
import type { BlobPort } from './blob-port.js';
import type { ValueEncoding } from './compression.js';

/**
 * A property that is always in a blob, uncompressed, so that its address can be given to a browser.
 */
export interface BlobLocation {
  readonly at: 'blob';
  /** Such as `image/jpeg`; `application/octet-stream` when absent. */
  readonly contentType?: string;
  /**
   * Stores the address of the blob as a String under the name of the property, so that programs
   * without this library find the value. Through this gateway the property has the value.
   */
  readonly address?: boolean;
}

/**
 * `attemptsMax` and `timers` apply to conflicts with other writers; `randomness` also to
 * generations.
 */
export interface LargeOptions extends ContentionOptions {
  /**
   * Stored names of the properties that may be large; every String and Binary when absent. A
   * `select` without any of them then transfers no large values.
   */
  readonly properties?: readonly string[];
  /** The longest String that stays inline, in UTF-16 code units; 32,768 when absent. */
  readonly stringUnitsInline?: number;
  /** The longest Binary that stays inline, in bytes; 65,536 when absent. */
  readonly binaryBytesInline?: number;
  /**
   * The maximum size of an entity with its parts, before values are compressed or moved; 1,000,000
   * bytes when absent. The rest of the 1 MiB is left for merges.
   */
  readonly entityBytesMax?: number;
  /** `br` when absent. Values that do not become smaller stay uncompressed. */
  readonly compression?: ValueEncoding;
  /** Compresses every value beyond its inline limit, not only what would not fit otherwise. */
  readonly compressAlways?: boolean;
  /** Whether values may be stored in rows of their own; true when absent. */
  readonly useRows?: boolean;
  /** Stores larger values. When absent, they are refused. */
  readonly blobs?: BlobPort;
  /** The prefix of blob names; `large/` when absent. */
  readonly blobPrefix?: string;
  /** Properties with a fixed location, by stored name. */
  readonly locations?: Readonly<Record<string, BlobLocation>>;
  /**
   * The age from which `verifyLargeValues` considers an unreferenced blob abandoned; an hour when
   * absent. A write that takes more than half of it between its first blob and its entity fails.
   */
  readonly graceMs?: number;
  /** Values that a query reads concurrently; 8 when absent. */
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
  readonly locations: Readonly<Record<string, BlobLocation>>;
  readonly addressOf: ((blob: string) => string) | undefined;
}

/** Throws `DefinitionError` for an address that the blobs cannot tell. */
export function limitsOf(options: LargeOptions): LargeLimits {
  const { properties, locations = {}, blobs } = options;
  const addressed = Object.keys(locations).find((name) => locations[name]?.address === true);
  if (addressed !== undefined && blobs?.addressOf === undefined) {
    throw new DefinitionError(
      `'${addressed}' cannot have the address of its blob: pass 'blobs' with addressOf, such as ` +
        'openValueBlobs',
    );
  }
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
    locations,
    addressOf: blobs?.addressOf?.bind(blobs),
  };
}
