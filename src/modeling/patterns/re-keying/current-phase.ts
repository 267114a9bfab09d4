import type { Clock } from '../../../base/clock.js';
import type { TableGateway } from '../../table/gateway.js';
import { readControl } from './control-row.js';
import { planOf, type PhasePlan } from './phase.js';

/**
 * The last known phase. It decides what to do but not what is safe, which the rows decide. Reads
 * the control row when its value is older than `refreshMs`.
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
    // A doubting caller needs an answer from a read that begins now.
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
