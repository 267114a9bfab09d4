import type { MessageHandler } from '../../worker/handler.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Derivation } from './derivation.js';
import type { DerivingOutbox } from './deriving-table.js';

/** Where a declaration holds. */
export interface DerivationPlace {
  /**
   * The table with everything that is declared for it but this, for writes of derived rows by a
   * worker.
   */
  readonly table: TableGateway;
  readonly outbox: DerivingOutbox | undefined;
}

/** Something derived that differs from what it is derived from. */
export interface DerivedDrift {
  /** What was declared: a counter or copies. */
  readonly of: string;
  /** The values of the keys of the derived entity. */
  readonly key: object;
  readonly expected: object;
}

/** A declaration in its place. */
export interface BoundDerivation {
  readonly derivation: Derivation;
  /** Handle the messages for what is in other partitions. */
  readonly handlers: readonly MessageHandler[];
  /** Compares everything derived with its sources. Changes nothing. */
  drifts(): AsyncIterable<DerivedDrift>;
}

/** What a table promises about its rows, declared once with the table. */
export interface DerivationDeclaration {
  bind(place: DerivationPlace): BoundDerivation;
}
