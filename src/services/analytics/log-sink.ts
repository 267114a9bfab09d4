import { operationClasses, type OperationClass } from '../../model/analytics/operation-name.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';

/** The metadata of a log (blob-service §21.2). */
export interface LogMetadata {
  /** The classes of the operations in it, in the order read, write, delete. */
  readonly types: readonly OperationClass[];
  /** When the earliest and the latest of its requests began, in microseconds since 1970. */
  readonly startMicros: number;
  readonly endMicros: number;
  readonly version: string;
}

/**
 * The result of appending lines to a log: its new size, or that it has lines of another version.
 */
export type Appended =
  { readonly kind: 'appended'; readonly bytes: number } | { readonly kind: 'other-version' };

/** Where logs are kept: the container `$logs` of an account. */
export interface LogSink {
  /** Makes the container of an account, if it is not there. */
  open(account: string): Promise<void>;
  /**
   * Appends lines to a log of an account, which is made when it is not there. `pieces`: their
   * bytes, divided anywhere, which the caller must not change afterwards. Atomic; several processes
   * may append to the same log. Afterwards the metadata of the log cover all of its lines. A log
   * has lines of one version: nothing is appended to a log of another version (blob-service §21.2).
   */
  append(
    account: string,
    name: string,
    pieces: readonly Buffer[],
    metadata: LogMetadata,
  ): Promise<Appended>;
  /**
   * Deletes up to `entriesMax` of an account's logs whose names are from `start` to before `end`.
   */
  deleteRange(
    account: string,
    names: { readonly start: string; readonly end: string },
    entriesMax: number,
  ): Promise<Reclaimed>;
}

/** The union of the metadata of two parts of a log, whose lines have the same version. */
export function mergedMetadata(a: LogMetadata, b: LogMetadata): LogMetadata {
  return {
    types: union(a.types, b.types),
    startMicros: Math.min(a.startMicros, b.startMicros),
    endMicros: Math.max(a.endMicros, b.endMicros),
    version: a.version,
  };
}

/** The types of both, in their order. Most new lines are of a type that the log has already. */
function union(a: LogMetadata['types'], b: LogMetadata['types']): LogMetadata['types'] {
  if (b.every((type) => a.includes(type))) return a;
  return operationClasses.filter((type) => a.includes(type) || b.includes(type));
}
