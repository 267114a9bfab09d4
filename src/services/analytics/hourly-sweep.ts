import type { Clock } from '../../base/clock.js';
import { intervalStart } from '../../model/analytics/metrics-table.js';
import type { RetentionPolicy } from '../../model/resources/service-properties.js';
import { SweepCursor, type Reclaimed, type SweepTargets } from '../containers/sweep-cursor.js';

const dayMicros = 86_400_000_000;

/** The time before which a policy keeps nothing; undefined: it keeps everything. */
export function oldestKeptMicros(
  { enabled, days }: RetentionPolicy,
  nowMicros: number,
): number | undefined {
  return enabled && days !== undefined ? nowMicros - days * dayMicros : undefined;
}

/** Sweeps targets whose garbage grows by the hour: in bounded steps, and one round in an hour. */
export class HourlySweep<Target> {
  readonly #clock: Clock;
  readonly #sweep: SweepCursor<Target>;
  /** The hour whose round is over. */
  #doneMicros = -1;

  constructor(clock: Clock, targets: SweepTargets<Target>) {
    this.#clock = clock;
    this.#sweep = new SweepCursor(targets);
  }

  async step({ entriesMax }: { readonly entriesMax: number }): Promise<Reclaimed> {
    const hourMicros = intervalStart('Hour', this.#clock.nowMicros());
    if (hourMicros === this.#doneMicros) return { deleted: 0, more: false };
    const swept = await this.#sweep.step(entriesMax);
    if (!swept.more) this.#doneMicros = hourMicros;
    return swept;
  }
}
