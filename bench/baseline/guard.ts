import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Measurement } from '../report.js';
import {
  lacking,
  parseBaseline,
  shapeDifferences,
  withEntries,
  type Baseline,
  type RunPlan,
} from './baseline.js';
import { changesSince, changesTable, conclusion, outcomeOf, type Outcome } from './comparison.js';
import { ratiosOf, ratiosWith, meaningfulRatios, type KindRatios } from './ratios.js';

/** How a run uses a baseline: it is compared with it or replaces it. */
export type BaselineUse = 'compare' | 'write';

const writingCommand = 'npm run bench -- --write-baseline';

function refusal(file: string, reasons: readonly string[], advice: string): Error {
  return new Error(`The baseline ${file} does not fit this run:\n${bullets(reasons)}${advice}`);
}

function bullets(reasons: readonly string[]): string {
  return reasons.map((reason) => `  ${reason}\n`).join('');
}

function readBaseline(file: string): Baseline | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return parseBaseline(readFileSync(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${file} is no baseline: ${reason}\nRemove it, then ${writingCommand}.`, {
      cause: error,
    });
  }
}

function ratioCount(measured: readonly KindRatios[]): number {
  return measured.reduce((sum, { ratios }) => sum + Object.keys(ratios).length, 0);
}

/** The baseline of a run, and what is done with it when the run has ended. */
export class BaselineGuard {
  readonly #file: string;
  readonly #use: BaselineUse;
  readonly #plan: RunPlan;
  readonly #baseline: Baseline | undefined;

  /** Throws when the run cannot be compared with the baseline, or cannot go into it. */
  constructor(file: string, use: BaselineUse, plan: RunPlan) {
    this.#file = file;
    this.#use = use;
    this.#plan = plan;
    if (ratiosWith(plan.servers).length === 0) {
      throw new Error('A ratio needs bare or azurite among --servers.');
    }
    this.#baseline = readBaseline(file);
    this.#assertFits();
  }

  /** Reports the comparison, or writes the baseline. */
  conclude(measurements: readonly Measurement[], tell: (text: string) => void): Outcome {
    const measured = ratiosOf(measurements);
    if (this.#use === 'write' || this.#baseline === undefined) {
      return this.#write(measured, tell);
    }
    const changes = changesSince(this.#baseline, measured);
    tell(`${changesTable(changes)}\n\n${conclusion(changes)}`);
    return outcomeOf(changes);
  }

  /** Ratios of a busy machine are left out, because they are no measure for other runs. */
  #write(measured: readonly KindRatios[], tell: (text: string) => void): Outcome {
    const kept = meaningfulRatios(measured);
    const next = withEntries(this.#baseline, this.#plan, kept);
    writeFileSync(this.#file, `${JSON.stringify(next, undefined, 2)}\n`);
    const [written, all] = [ratioCount(kept), ratioCount(measured)];
    tell(`${written} of ${all} ratios of this run are in ${this.#file}.\n`);
    if (written === all) return 'good';
    tell('The machine was too busy for the others: run again when it is calm.\n');
    return 'unknown';
  }

  #assertFits(): void {
    const baseline = this.#baseline;
    if (baseline === undefined) {
      if (this.#use === 'write') return;
      throw new Error(`There is no baseline ${this.#file}: ${writingCommand} writes it.`);
    }
    const differences = shapeDifferences(baseline, this.#plan);
    if (differences.length > 0) {
      const advice = 'Give the run the same options, or another file with --baseline FILE.';
      throw refusal(this.#file, differences, advice);
    }
    const missing = this.#use === 'write' ? [] : lacking(baseline, this.#plan);
    if (missing.length > 0) {
      const advice = `Leave these out with --kinds and --servers, or add them: ${writingCommand}.`;
      throw refusal(this.#file, missing, advice);
    }
  }
}
