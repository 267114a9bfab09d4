import type { Clock } from '../../../base/clock.js';
import type { TableGateway } from '../../table/gateway.js';
import { readControl } from './control-row.js';
import { planOf, type PhasePlan } from './phase.js';

/**
 * The phase as it was read last. It decides what is wanted, never what is safe: that is told by the
 * rows. A point read of the control row when what is known is older than `refreshMs`.
 */
export class CurrentPhase {
  readonly #table: TableGateway;
  readonly #move: string;
  readonly #clock: Clock;
  readonly #refreshMs: number;
  #known: { readonly plan: PhasePlan; readonly atMs: number } | undefined;
  #reading: Promise<PhasePlan> | undefined;

  constructor(table: TableGateway, move: string, clock: Clock, refreshMs: number) {
    this.#table = table;
    this.#move = move;
    this.#clock = clock;
    this.#refreshMs = refreshMs;
  }

  async plan(isDoubted = false): Promise<PhasePlan> {
    const known = this.#known;
    const isYoung = known !== undefined && this.#clock.monotonicMs() - known.atMs < this.#refreshMs;
    if (known !== undefined && isYoung && !isDoubted) return known.plan;
    // Who doubts needs an answer to a question that was asked later.
    if (isDoubted) return this.#read();
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<PhasePlan> {
    const atMs = this.#clock.monotonicMs();
    const { phase } = await readControl(this.#table, this.#move);
    const plan = planOf(phase);
    if (this.#known === undefined || this.#known.atMs <= atMs) this.#known = { plan, atMs };
    return plan;
  }
}
