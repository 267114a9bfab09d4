import type { Clock } from '../../../base/clock.js';
import type { ModelError } from '../../rows/model-error.js';
import type { UnreadableRow } from '../../table/unreadable-row.js';
import type { MessageHandler } from '../../worker/handler.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Derivation } from './derivation.js';
import type { MessageSink } from '../transactional-outbox/message-sink.js';
import type { DerivingOutbox } from './deriving-table.js';

/** Where a declaration holds. */
export interface DerivationContext {
  /**
   * The table with all of its declarations except this one, for writes of derived rows by a worker.
   */
  readonly table: TableGateway;
  readonly outbox: DerivingOutbox | undefined;
  readonly clock: Clock;
}

/** Something derived that differs from what it is derived from, or cannot be compared with it. */
export type DerivedDrift =
  | {
      /** The type of the derived entity. */
      readonly of: string;
      /** The values of the keys of the derived entity. */
      readonly key: object;
      readonly expected: object;
      /** Why a repair was refused. */
      readonly error?: ModelError;
    }
  | {
      readonly of: string;
      /** The derived entity, when it or its source cannot be read. Only a write mends that. */
      readonly unreadable: UnreadableRow;
    };

/** How derived data are compared with their sources. */
export interface DerivedCheck {
  /** Whether differences are mended. */
  readonly repairs: boolean;
  /** Resumes after the page with this cursor. */
  readonly cursor?: string | undefined;
  /** Maximum rows of a page, 1 to 1000; 1000 when absent. */
  readonly pageRows?: number | undefined;
  /** Acts on all messages that wait. False when some could not be acted on. */
  readonly drained: () => Promise<boolean>;
}

/** The results of one page of rows. */
export interface DerivedPage {
  /** Rows that were compared or counted. */
  readonly checked: number;
  /** Differences; after a repair, those that remain. */
  readonly drifts: readonly DerivedDrift[];
  readonly repaired: number;
  /** Absent at the end. */
  readonly cursor?: string;
}

/** A declaration in its place. */
export interface BoundDerivation {
  readonly derivation: Derivation;
  /** The handlers of messages about derived data in other partitions. */
  readonly handlers: readonly MessageHandler[];
  /** Takes messages that are kept. */
  readonly sink?: MessageSink;
  /** Compares everything derived with its sources. Absent where nothing can differ. */
  readonly check?: (options: DerivedCheck) => AsyncGenerator<DerivedPage, void, undefined>;
}

/** A rule for the derived data of a table, declared once with the table. */
export interface DerivationDeclaration {
  bind(place: DerivationContext): BoundDerivation;
}
