import type { Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/thrown.js';
import type { Catalogue } from '../catalogue.js';
import type { PartitionCounters } from '../counters.js';
import type { Members } from '../members.js';
import type { BackupRow, MoveStep, RestoreRow } from '../rows.js';

/** The dependencies of operations on ranges. */
export interface OperationTools {
  readonly catalogue: Catalogue;
  readonly members: Members;
  readonly clock: Clock;
  readonly timers: Timers;
  /** About how long writes of a range wait for the end of its move, in milliseconds. */
  readonly pauseMillisMax: number;
  /** Entries in a page of a copy, at most. */
  readonly pageEntriesMax: number;
  /** Limits that differ from those of `limits.ts`. */
  readonly limits?: Partial<OperationLimits>;
  /** Yields to other work of the process between two pages. Default: does not yield. */
  readonly giveWay?: () => Promise<void>;
  /** Counts ends of operations, and pauses. */
  readonly counters?: PartitionCounters;
  /** Called when a move has reached a step. */
  readonly onStep?: (step: MoveStep) => void;
  /** Called with the bytes of keys and values that a copy has brought to its target. */
  readonly onCopied?: (bytes: number) => void;
  /** Called with the number of obsolete keys that an operation has deleted. */
  readonly onDeleted?: (keys: number) => void;
}

/** How an operation ended. */
export type OperationEnd = 'done' | 'cancelled';

/** Limits of one key space; see `limits.ts`. */
export interface OperationLimits {
  readonly rangesMax: number;
  readonly operationsMax: number;
  readonly dirtyRowsMax: number;
}

/** The steps of a move in which its source has the range, and goes on with it when they fail. */
export const stepsBeforeSwitch: ReadonlySet<MoveStep> = new Set([
  'prepare',
  'log',
  'copy',
  'catch up',
  'fence',
  'close',
]);

/** Another process has taken over the operation, or has ended it. The refused write did nothing. */
export class TakenOverError extends Error {
  override readonly name: string = 'TakenOverError';

  constructor(
    operation: number,
    message = `Another process has taken over operation ${operation}.`,
  ) {
    super(message);
  }
}

/**
 * A backup or a restore was cancelled, or another process has undone it because this one had not
 * renewed its lease. The range serves again.
 */
export class UndoneError extends TakenOverError {
  override readonly name = 'UndoneError';

  constructor({ kind, id, range }: BackupRow | RestoreRow) {
    const left =
      kind === 'backup' ? 'there is no whole copy' : 'the range has all of it or nothing';
    super(
      id,
      `The ${kind} of range ${range}, operation ${id}, was cancelled, or another process took this ` +
        `one for dead: ${left}.`,
    );
  }
}

/**
 * The store that this process has opened under the name of a target is no longer a member of the
 * key space: another process has removed it and admitted another one under that name. Nothing was
 * written.
 */
export class StoreLocationMismatchError extends Error {
  override readonly name = 'StoreLocationMismatchError';

  constructor(operation: number, store: string) {
    super(
      `Operation ${operation} does not go on here: the store '${store}' was taken out and is at ` +
        `another location now. Give this server that location: tabularium partition store add ${store} ` +
        'LOCATION.',
    );
  }
}

/** A backup cannot be restored into a range that has entries. Nothing was changed. */
export class RangeNotEmptyError extends Error {
  override readonly name = 'RangeNotEmptyError';

  constructor(range: number) {
    super(
      `Range ${range} has entries: a backup is restored into an empty range. Delete what it has, ` +
        'or restore into another table or queue with --as.',
    );
  }
}

/** An operation has ended without its result. It is not tried again. */
export abstract class GivenUpError extends Error {}

/**
 * Clients write faster than a move copies, or more is written while it cannot go on because of
 * `failure` than it may have to copy. The move is cancelled.
 */
export class MoveTooSlowError extends GivenUpError {
  override readonly name = 'MoveTooSlowError';

  constructor(operation: number, writes: number, failure?: unknown) {
    const came = `Move ${operation} is cancelled: more than ${writes} writes came while it`;
    super(
      failure === undefined
        ? `${came} copied, faster than it could follow. Split the range and move its parts, or ` +
            'move it when less is written.'
        : `${came} could not go on. ${messageOf(failure)}`,
      { cause: failure },
    );
  }
}

/** Clients write faster than a backup copies. It has ended, and its range is served as before. */
export class BackupTooSlowError extends Error {
  override readonly name = 'BackupTooSlowError';

  constructor(range: number, why: string) {
    super(
      `The backup of range ${range} has ended without a copy: ${why}, faster than it could follow. ` +
        'Split the range and back up its parts, or back it up when less is written.',
    );
  }
}

/**
 * A move is cancelled and its source serves, but the target still has what was copied to it. The
 * next process that takes the operation over tries again to delete that.
 */
export class TargetNotEmptiedError extends Error {
  override readonly name = 'TargetNotEmptiedError';

  constructor(move: {
    readonly why: string;
    readonly range: number;
    readonly source: string;
    readonly target: string;
    readonly cause: unknown;
  }) {
    const { why, range, source, target, cause } = move;
    super(
      `${why} The store '${source}' serves range ${range}; what was copied to '${target}' is ` +
        `deleted as soon as that store lets it. When it never will: tabularium partition store remove ` +
        `${target} --lost. ${messageOf(cause)}`,
      { cause },
    );
  }
}

/** Two stores serve one range, so neither is deleted. Nothing was changed. */
export class ServedTwiceError extends GivenUpError {
  override readonly name = 'ServedTwiceError';

  constructor(range: number, store: string) {
    super(
      `The store '${store}' serves range ${range} as well: it may have writes that were ` +
        'acknowledged, so nothing of it is deleted.',
    );
  }
}

/** Source and target of a move differ where they must not. The move is cancelled. */
export class MoveMismatchError extends GivenUpError {
  override readonly name = 'MoveMismatchError';

  constructor(operation: number, keys: number) {
    super(`The stores of move ${operation} differ in ${keys} keys: it is cancelled.`);
  }
}
