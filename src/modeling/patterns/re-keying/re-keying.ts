import { requireCounts } from '../../definition/count.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, ReadOf } from '../../definition/shapes.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { isConflictOrLost } from '../../table/contention.js';
import { DefinitionError, ModelError } from '../../table/errors.js';
import { pageRowsMax, type RowWrite, type TableGateway } from '../../table/gateway.js';
import { writeIf } from '../../table/conditional-write.js';
import { asMove } from '../../table/moving-table.js';
import type { ReadState } from '../moves/followed-state.js';
import { stepIn, wrongPhase, type PhaseStep } from '../moves/phase-step.js';
import {
  walk,
  walkBeginning,
  type Segment,
  type WalkPace,
  type WalkPosition,
} from '../moves/walk.js';
import { storedControl, type Control, type StoredControl } from './control-row.js';
import { isOpen } from './move-mark.js';
import { MoveSide, newTranslation, oldTranslation, type MoveKeys } from './move-side.js';
import { MovingEntities } from './moving-entities.js';
import { MovingRows } from './moving-rows.js';
import type { Phase, Side } from './phase.js';
import { rowsOfSide, type MoveDrift, type RowWork } from './walk.js';

/** The options of a move. */
export interface ReKeyingOptions<O extends AnyDefinition, N extends AnyDefinition, A> {
  /** Names the move in its rows. Other moves of the same tables need other names. */
  readonly name: string;
  readonly from: { readonly definition: O; readonly table: TableGateway };
  /** Another table, of any account. */
  readonly to: { readonly definition: N; readonly table: TableGateway };
  /**
   * The keys of an entity on both sides. They must follow from values that the program knows before
   * it reads the entity, and never change during the entity's life.
   */
  readonly keys: (address: A) => { readonly old: KeyOf<O>; readonly new: KeyOf<N> };
  /**
   * Converts an entity to the new definition and back. Both must be pure, and inverse to each
   * other. They may spread the entity: names that only its own definition declares are left out.
   */
  readonly forward: (old: ReadOf<O>) => CreateOf<N>;
  readonly backward: (entity: ReadOf<N>) => CreateOf<O>;
  /** Which entities move; all when absent. Every step ignores the others. */
  readonly only?: (entity: ReadOf<N>) => boolean;
  /** Where the phase is stored; in the old table when absent. */
  readonly control?: TableGateway;
  /** How long a program uses a phase that it has read, in milliseconds; 5,000 when absent. */
  readonly refreshMs?: number;
  /**
   * How long a step waits after a change of the phase, in milliseconds; 30,000 when absent.
   * Afterwards no operation of an earlier phase may be running: it must exceed `refreshMs` and the
   * longest operation, the client's retries included.
   */
  readonly settleMs?: number;
  /** Called for a copy that could not be written. `verify` and every handover correct it. */
  readonly onCopyBehind?: (keys: Readonly<Record<Side, RowKey>>, error: unknown) => void;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/** How a step walks over the rows. */
export interface MoveStepOptions {
  /** Maximum rows of a page, after which progress is stored; 1 to 1000, 200 when absent. */
  readonly pageRows?: number;
  /** Rows processed concurrently; 16 when absent. */
  readonly concurrency?: number;
  /** Stops the step after a page; it can be resumed. */
  readonly signal?: AbortSignal;
  readonly onDrift?: (drift: MoveDrift) => void;
  readonly onProgress?: (progress: MoveReport) => void;
}

/** The results of a step, over all of its runs. */
export interface MoveReport {
  /** Rows of the move that were looked at, refused ones included. */
  readonly checked: number;
  readonly written: number;
  /** Rows, of either side, that were kept as they are: `onDrift` is told which, and why. */
  readonly refused: number;
}

/** The state of a move. */
export interface MoveState extends MoveReport {
  readonly phase: Phase;
  /** The number of changes of the phase. */
  readonly version: number;
}

interface Walk {
  readonly side: Side;
  readonly work: RowWork;
}

/** The order of phases. A step is done when a later phase is found. */
const forward: readonly Phase[] = [
  'old',
  'dual-writing',
  'backfilling',
  'verifying',
  'cutting-over',
  'reading-new',
  'done',
];
/** Walks that must be complete before the next phase. */
const walksNeeded: Readonly<Partial<Record<Phase, number>>> = { backfilling: 1, verifying: 2 };
/** Changes that would put rows out of reach which walks have refused; the step is called again. */
const withoutRefused: Readonly<Partial<Record<Phase, { to: Phase; again: string }>>> = {
  verifying: { to: 'cutting-over', again: 'verify' },
  'cutting-over': { to: 'reading-new', again: 'cutOver' },
  'rolling-back': { to: 'old', again: 'rollBack' },
};
const refreshMsDefault = 5_000;
const settleMsDefault = 30_000;
const pageRowsDefault = 200;
const concurrencyDefault = 16;

/**
 * Moves the entities of a definition to other keys, or to another table or account, while they are
 * read and written. Every program accesses them through `entities`; one program calls the steps, in
 * the order of the methods. A step that was interrupted is called again, by any program, and
 * resumes; a step that is done does nothing, so a script can be run again from its beginning. When
 * two programs call steps at once, they do the same work twice, without harm. A step throws
 * `ModelError` in a phase in which it cannot begin.
 *
 * **Safety.** At any time one of an entity's two rows owns it, as the rows themselves show.
 * Therefore no update is lost and no deleted entity returns, whatever phase a program assumes and
 * however long it was paused, up to `finish`. `settleMs` is needed only for facts that rows cannot
 * show: that a query of the new side sees everything, and that no program reads the old side when
 * it is not written any more.
 */
export class ReKeying<O extends AnyDefinition, N extends AnyDefinition, A> {
  /** The entities, on whichever side they are. */
  readonly entities: MovingEntities<O, N, A>;
  readonly #options: ReKeyingOptions<O, N, A>;
  readonly #sides: Readonly<Record<Side, MoveSide>>;
  readonly #rows: MovingRows;
  readonly #state: StoredControl;

  /** Throws `DefinitionError` for a move that is not possible. Sends nothing. */
  constructor(options: ReKeyingOptions<O, N, A>) {
    const { name, from, to, clock = systemClock, timers = holdingTimers } = options;
    check(options);
    this.#options = options;
    this.#state = storedControl(options.control ?? from.table, name, {
      clock,
      timers,
      refreshMs: options.refreshMs ?? refreshMsDefault,
      settleMs: options.settleMs ?? settleMsDefault,
    });
    this.#sides = {
      old: new MoveSide({
        side: 'old',
        move: name,
        ...from,
        translation: oldTranslation(from.definition, to.definition, options),
      }),
      new: new MoveSide({
        side: 'new',
        move: name,
        ...to,
        translation: newTranslation(to.definition),
      }),
    };
    this.#rows = new MovingRows(this.#sides, {
      timers,
      ...(options.randomness === undefined ? {} : { randomness: options.randomness }),
      onCopyBehind: (keys, error) => options.onCopyBehind?.(keys, error),
    });
    this.entities = new MovingEntities<O, N, A>({
      definition: to.definition,
      keys: (address) => this.#keys(address),
      sides: this.#sides,
      rows: this.#rows,
      state: this.#state,
    });
  }

  /** One point read. */
  async state(): Promise<MoveState> {
    const { phase, version, place } = await this.#state.fresh();
    return { phase, version, ...reportOf(place) };
  }

  /** `old` → `dual-writing`. A point read and a write. */
  async start(): Promise<void> {
    await this.#advance(['old'], 'dual-writing', ...beyond('dual-writing'));
  }

  /**
   * `dual-writing` → `backfilling`: waits `settleMs`, then copies existing entities. Sends a range
   * read and a write for each page, and an insert for each entity; two point reads and perhaps a
   * write for one that has a copy already.
   */
  async backfill(options: MoveStepOptions = {}): Promise<MoveReport> {
    const done = await this.#beyond('backfilling');
    if (done !== undefined) return done;
    await this.#settle(['dual-writing', 'backfilling']);
    await this.#advance(['dual-writing'], 'backfilling');
    const fill: RowWork = async ({ keys, state }) => {
      const isCopied = !isOpen('old', state.epoch) || state.content.entityRow === undefined;
      return isCopied ? false : this.#rows.fill(keys, state);
    };
    return this.#walk('backfilling', [{ side: 'old', work: fill }], options);
  }

  /**
   * `backfilling` → `verifying`, when the backfill is complete: compares each entity with its copy
   * and each copy with its entity, and repairs differences. Can be repeated in `verifying`; a run
   * without drifts shows that both sides agree, except for writes in progress. `cutOver` is not
   * possible while rows are `refused`: mend or delete them, and verify again. Sends two point reads
   * for each row of either side, and a write for each drift.
   */
  async verify(options: MoveStepOptions = {}): Promise<MoveReport> {
    const done = await this.#beyond('verifying');
    if (done !== undefined) return done;
    await this.#advance(['backfilling'], 'verifying');
    const compare: RowWork = ({ keys }) => this.#rows.compare(keys);
    const walks: readonly Walk[] = [
      { side: 'old', work: compare },
      { side: 'new', work: compare },
    ];
    return this.#walk('verifying', walks, options);
  }

  /**
   * `verifying` → `cutting-over` → `reading-new`, when a verification is complete: waits
   * `settleMs`, then hands every entity over to the new side; programs hand over what they access
   * meanwhile. Throws `ModelError` when rows were refused, by the verification or now: they would
   * be out of reach. Mend or delete them, and repeat that step. Sends two point reads and two
   * writes for each entity.
   */
  async cutOver(options: MoveStepOptions = {}): Promise<MoveReport> {
    await this.#advance(['verifying'], 'cutting-over', ...beyond('cutting-over'));
    return this.#handOver('cutting-over', 'new', 'reading-new', options);
  }

  /**
   * Back to `old`. Before `cutOver` a point read and a write; afterwards through `rolling-back`,
   * which waits `settleMs` and hands every entity back to the old side. Throws `ModelError` when
   * rows could not be handed back: mend or delete them, and call it again. Not possible from
   * `done`.
   */
  async rollBack(options: MoveStepOptions = {}): Promise<MoveReport> {
    const { phase } = await this.#state.fresh();
    const before: readonly Phase[] = ['dual-writing', 'backfilling', 'verifying'];
    if (before.includes(phase)) await this.#advance(before, 'old');
    else await this.#advance(['cutting-over', 'reading-new'], 'rolling-back', 'old');
    return this.#handOver('rolling-back', 'old', 'old', options);
  }

  /** `reading-new` → `done`: waits `settleMs`. Afterwards the old side is not written any more. */
  async finish(): Promise<void> {
    await this.#settle(['reading-new', 'done']);
    await this.#advance(['reading-new'], 'done');
  }

  /**
   * After `finish`: waits `settleMs`, then deletes the rows of the old side, and the tombstones of
   * the new one. After `rollBack` the same with sides exchanged. Sends a range read for each page
   * and a delete for each row. A row that a program without knowledge of the move wrote meanwhile
   * is reported as `refused` and kept.
   */
  async cleanUp(options: MoveStepOptions = {}): Promise<MoveReport> {
    const { phase } = await this.#settle(['old', 'done']);
    const [given, kept]: readonly Side[] = phase === 'done' ? ['old', 'new'] : ['new', 'old'];
    if (given === undefined || kept === undefined) throw new ModelError('there are two sides');
    const remove: RowWork = async ({ row, state }) => {
      if (isOpen(state.side, state.epoch)) throw new ModelError('the row is no copy of an entity');
      return this.#delete(state.side, asMove(deleteOf(row, state.etag)));
    };
    // Not a step of the move: a program deleted the entity, and the feed of this side has not
    // announced that the row of these keys is gone, or only for an earlier row.
    const removeGone: RowWork = async ({ row, state }) =>
      state.content.entityRow === undefined && this.#delete(state.side, deleteOf(row, state.etag));
    const walks: readonly Walk[] = [
      { side: given, work: remove },
      { side: kept, work: removeGone },
    ];
    const told = (place: WalkPosition): Promise<WalkPosition> => {
      options.onProgress?.(reportOf(place));
      return Promise.resolve(place);
    };
    const segments = this.#segments(walks, options);
    return reportOf(await walk(segments, walkBeginning, told, paceOf(options)));
  }

  /** The report of a step whose phase is over. */
  async #beyond(phase: Phase): Promise<MoveReport | undefined> {
    const found = await this.#state.fresh();
    return beyond(phase).includes(found.phase) ? reportOf(found.place) : undefined;
  }

  #keys(address: A): MoveKeys {
    const { keys, from, to } = this.#options;
    const found = keys(address);
    return {
      old: codecOf(from.definition).key(found.old),
      new: codecOf(to.definition).key(found.new),
    };
  }

  async #handOver(
    during: Phase,
    to: Side,
    then: Phase,
    options: MoveStepOptions,
  ): Promise<MoveReport> {
    const { phase, place } = await this.#state.fresh();
    if (phase !== during) return reportOf(place);
    await this.#settle([during]);
    const pass: RowWork = async ({ keys, state }) => {
      const isThere = state.side === to && isOpen(state.side, state.epoch);
      return isThere ? false : this.#rows.handOver(keys, to);
    };
    const walks: readonly Walk[] = [
      { side: to === 'new' ? 'old' : 'new', work: pass },
      { side: to, work: pass },
    ];
    const report = await this.#walk(during, walks, options, to);
    await this.#advance([during], then);
    return report;
  }

  /**
   * Processes all rows of each walk, resuming an earlier run. A run that has ended is repeated
   * where it compares, or has refused rows.
   */
  async #walk(
    phase: Phase,
    walks: readonly Walk[],
    options: MoveStepOptions,
    to?: Side,
  ): Promise<MoveReport> {
    let control = await this.#state.read();
    if (this.#isOver(phase, control)) return reportOf(control.state.place);
    const { segment, refused } = control.state.place;
    const isRepeated = phase === 'verifying' || refused > 0;
    if (segment >= walks.length && isRepeated) {
      control = await this.#reached(control, walkBeginning);
    }
    const reached = async (place: WalkPosition): Promise<WalkPosition | undefined> => {
      control = await this.#reached(control, place);
      options.onProgress?.(reportOf(place));
      return this.#isOver(phase, control) ? undefined : control.state.place;
    };
    const segments = this.#segments(walks, options, to);
    await walk(segments, control.state.place, reached, paceOf(options));
    return reportOf(control.state.place);
  }

  /** Whether another program has completed the steps of a phase. */
  #isOver(phase: Phase, { state }: ReadState<Control>): boolean {
    if (state.phase === phase) return false;
    if (beyond(phase).includes(state.phase)) return true;
    throw phaseError(this.#state.title, state.phase, [phase]);
  }

  #segments(
    walks: readonly Walk[],
    { pageRows = pageRowsDefault, onDrift }: MoveStepOptions,
    to?: Side,
  ): readonly Segment<StoredRow>[] {
    requireCounts({ pageRows }, { max: pageRowsMax });
    const { name, only } = this.#options;
    const { definition } = this.#options.to;
    return walks.map(({ side, work }) =>
      rowsOfSide({
        side: this.#sides[side],
        oldSide: this.#sides.old,
        move: name,
        pageRows,
        ...(to === undefined ? {} : { to }),
        work,
        isMoved: ({ content: { entityRow } }) =>
          only === undefined ||
          entityRow === undefined ||
          only(codecOf(definition).fromRow({ ...entityRow, etag: '', timestamp: 0n })),
        onDrift: (drift) => onDrift?.(drift),
      }),
    );
  }

  /** Stores a place. Another program may have stored its own; either is valid for resuming. */
  async #reached(control: ReadState<Control>, place: WalkPosition): Promise<ReadState<Control>> {
    try {
      return await this.#state.write({ ...control.state, place }, control.etag);
    } catch (error) {
      if (!isConflictOrLost(error)) throw error;
      return this.#state.read();
    }
  }

  /** Changes the phase; does nothing when it is that phase already, or one of those that follow. */
  #advance(from: readonly Phase[], to: Phase, ...beyond: readonly Phase[]): Promise<Control> {
    const step: PhaseStep<Phase> = { from, to, beyond };
    return this.#state.change(`the phase '${to}'`, (control) => {
      const { phase, version, place } = control;
      const found = stepIn(phase, step);
      if (found === 'taken') return control;
      if (found === 'impossible') throw phaseError(this.#state.title, phase, from);
      if (to !== 'old' && place.segment < (walksNeeded[phase] ?? 0)) {
        throw new ModelError(
          `${this.#state.title} has not ended its ${phase}; call that step again`,
        );
      }
      const held = withoutRefused[phase];
      if (place.refused > 0 && held?.to === to) {
        throw new ModelError(
          `${this.#state.title} has refused rows while ${phase}, ${place.refused} in all; ` +
            `mend or delete what onDrift tells, and call ${held.again} again`,
        );
      }
      return { phase: to, version: version + 1, place: walkBeginning };
    });
  }

  /** Waits until no operation of an earlier phase can be running. */
  async #settle(phases: readonly Phase[]): Promise<Control> {
    const control = await this.#state.fresh();
    if (!phases.includes(control.phase)) {
      throw phaseError(this.#state.title, control.phase, phases);
    }
    await this.#state.settle(control);
    return control;
  }

  #delete(side: Side, write: RowWrite): Promise<boolean> {
    return writeIf(this.#sides[side].table, write);
  }
}

function deleteOf({ partitionKey, rowKey }: RowKey, etag = ''): RowWrite {
  return { kind: 'delete', key: { partitionKey, rowKey }, etag };
}

function beyond(phase: Phase): readonly Phase[] {
  return forward.slice(forward.indexOf(phase) + 1);
}

function phaseError(title: string, found: Phase, wanted: readonly Phase[]): ModelError {
  return new ModelError(wrongPhase(title, found, wanted));
}

function reportOf({ items, changes, refused }: WalkPosition): MoveReport {
  return { checked: items, written: changes, refused };
}

function paceOf({ concurrency = concurrencyDefault, signal }: MoveStepOptions): WalkPace {
  requireCounts({ concurrency });
  return { concurrency, signal };
}

function check<O extends AnyDefinition, N extends AnyDefinition, A>({
  name,
  from,
  to,
}: ReKeyingOptions<O, N, A>): void {
  if (name === '') throw new DefinitionError('a move needs a name');
  for (const { type, system } of [from.definition, to.definition]) {
    if (system.type !== undefined) continue;
    throw new DefinitionError(`${type} stores no type, so its rows cannot be told from others`);
  }
  if (from.table === to.table) {
    throw new DefinitionError(`'${name}' moves entities inside of one table; use another one`);
  }
}

/** A move of entities. Sends nothing. */
export function reKeyingOf<O extends AnyDefinition, N extends AnyDefinition, A>(
  options: ReKeyingOptions<O, N, A>,
): ReKeying<O, N, A> {
  return new ReKeying(options);
}
