import type { Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import type { Catalogue } from '../catalogue.js';
import type { PartitionCounters } from '../counters.js';
import type { Members } from '../members.js';
import type { MoveStep } from '../rows.js';

/** What operations on ranges need. */
export interface OperationTools {
  readonly catalogue: Catalogue;
  readonly members: Members;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Writes of a range wait so long for the end of its move, about, in milliseconds. */
  readonly pauseMillisMax: number;
  /** Entries in a page of a copy, at most. */
  readonly pageEntriesMax: number;
  /** Counts ends of operations, and pauses. */
  readonly counters?: PartitionCounters;
  /** Called when a move has reached a step. */
  readonly onStep?: (step: MoveStep) => void;
  /** Called with the bytes of keys and values that a copy has brought to its target. */
  readonly onCopied?: (bytes: number) => void;
}

/** Another process has taken over the operation, or has cancelled it. This one wrote nothing. */
export class TakenOverError extends Error {
  override readonly name = 'TakenOverError';

  constructor(operation: number) {
    super(`Another process has taken over operation ${operation}.`);
  }
}

/** A range was to get the entries of a backup, and has some already. Nothing was changed. */
export class RangeNotEmptyError extends Error {
  override readonly name = 'RangeNotEmptyError';

  constructor(range: number) {
    super(`Range ${range} has entries: a backup is restored into an empty range.`);
  }
}

/** Source and target of a move differ where they must not. The move is cancelled. */
export class MoveMismatchError extends Error {
  override readonly name = 'MoveMismatchError';

  constructor(operation: number, keys: number) {
    super(`The stores of move ${operation} differ in ${keys} keys: it is cancelled.`);
  }
}
