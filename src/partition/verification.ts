import type { Clock } from '../base/clock.js';
import type { Catalogue } from './catalogue.js';
import type { ComparedUntil, Finding } from './findings.js';
import { verificationKey } from './keys.js';
import { encodeVerificationRow, type VerificationRow, type Versioned } from './rows.js';

/** Another process may go on with a comparison this long after its last note, in microseconds. */
const leaseMicros = 10_000_000;
/** The lease is renewed when less is left. */
const leaseLeftMicros = 5_000_000;
/** What was compared longer ago than this is compared again, in microseconds. */
const keptMicros = 24 * 3_600_000_000;
/** With more findings than this, no further progress is noted. */
const findingsKept = 100;

export interface VerificationTools {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  /** This process. */
  readonly owner: string;
  /** No other process has the catalogue: a comparison of another owner was left. */
  readonly isAlone: boolean;
}

/**
 * The comparison of all ranges with the stores, noted in the home store, so that the next one goes
 * on where it was when its process died. While another one is under way, nothing is noted.
 */
export class Verification {
  /** What the one before has done, if this one goes on with it. */
  readonly before: VerificationRow | undefined;
  readonly #tools: VerificationTools;
  /** Undefined: nothing is noted. */
  #held: Versioned<VerificationRow> | undefined;

  private constructor(
    tools: VerificationTools,
    held: Versioned<VerificationRow> | undefined,
    before: VerificationRow | undefined,
  ) {
    this.#tools = tools;
    this.#held = held;
    this.before = before;
  }

  /** `anew`: whatever was compared before. */
  static async begin(
    tools: VerificationTools,
    { anew }: { readonly anew: boolean },
  ): Promise<Verification> {
    const { catalogue, clock, owner, isAlone } = tools;
    const found = await catalogue.verification();
    const nowMicros = Math.max(0, clock.nowMicros());
    const lease = { owner, leaseUntil: nowMicros + leaseMicros };
    const isOthers = found !== undefined && found.row.owner !== owner && isAlone;
    const isLeft = found === undefined || isOthers || found.row.leaseUntil <= nowMicros;
    if (!isLeft) return new Verification(tools, undefined, undefined);
    const isRecent = found !== undefined && nowMicros - found.row.begunMicros < keptMicros;
    const before = isRecent && !anew && found.row.until !== undefined ? found.row : undefined;
    const none = { begunMicros: nowMicros, keys: 0, until: undefined, findings: [] };
    const row = { ...(before ?? none), ...lease };
    const written = await write(catalogue, row, found?.version ?? 'absent');
    // Another process has begun one meanwhile.
    if (written === undefined) return new Verification(tools, undefined, undefined);
    return new Verification(tools, written, before);
  }

  /** To be called with the keys that were read since the last call. */
  async noteKeys(keys: number): Promise<void> {
    if (this.#held === undefined) return;
    const { row } = this.#held;
    this.#held = { ...this.#held, row: { ...row, keys: row.keys + keys } };
    const left = row.leaseUntil - this.#tools.clock.nowMicros();
    if (left <= leaseLeftMicros) await this.#write({});
  }

  async noteCompared(until: ComparedUntil, found: readonly Finding[]): Promise<void> {
    if (this.#held === undefined) return;
    const findings = [...this.#held.row.findings, ...found];
    // So whoever goes on finds these again.
    if (findings.length > findingsKept) this.#held = undefined;
    else await this.#write({ until, findings });
  }

  /** All is compared: the next one begins anew. */
  async end(): Promise<void> {
    if (this.#held === undefined) return;
    const checks = [{ key: verificationKey, version: this.#held.version }];
    await this.#tools.catalogue.commit({ checks, deletes: [verificationKey] });
  }

  async #write(change: Partial<VerificationRow>): Promise<void> {
    if (this.#held === undefined) return;
    const { row, version } = this.#held;
    const { catalogue, clock } = this.#tools;
    const leaseUntil = Math.max(0, clock.nowMicros()) + leaseMicros;
    // Undefined when another process goes on with this one, which it took for dead.
    this.#held = await write(catalogue, { ...row, ...change, leaseUntil }, version);
  }
}

async function write(
  catalogue: Catalogue,
  row: VerificationRow,
  version: number | 'absent',
): Promise<Versioned<VerificationRow> | undefined> {
  const result = await catalogue.commit({
    checks: [{ key: verificationKey, version }],
    puts: [{ key: verificationKey, value: encodeVerificationRow(row) }],
  });
  return result.ok ? { row, version: result.version } : undefined;
}
