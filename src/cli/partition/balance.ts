import { Command } from 'commander';
import type { BalanceInfo, PartitionControl } from '../../http/control/partitions.js';
import { finalAnswer } from '../client/retry.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { quietMs, showProgress } from '../terminal/progress.js';
import { counted, jsonLine, printable } from '../terminal/terminal.js';
import { withAccess, withPartitions, type AccessFlags, type PartitionAccess } from './access.js';
import { begun } from './interrupted.js';
import { allCarriedOut, stillRunning } from './waiting.js';

interface BalanceFlags extends AccessFlags {
  readonly dryRun?: boolean;
  readonly wait: boolean;
}

/** The delay between two plans while loads are measured, each of which measures one range. */
const planDelayMs = { first: 200, last: 200 } as const;

export function partitionBalanceCommand(): Command {
  const command = new Command('balance')
    .summary('begin what makes the stores share the load')
    .description(
      'Plan splits, merges and moves from the measured load, and begin them; ranges that no such ' +
        'operation helps are told with advice. Waits until loads are measured for 15 seconds, unless ' +
        'sizes alone call for a split. A server with --balancer on does this by itself.',
    )
    .option('--dry-run', 'only print the plan')
    .option('--no-wait', 'wait neither for measures nor for the ends of operations: exit code 3');
  return withAccess(command)
    .addHelpText(
      'after',
      '\nExamples:\n  tabularium partition balance --dry-run --control-port 10009',
    )
    .action((flags: BalanceFlags) => withPartitions(flags, (_, access) => balance(access, flags)));
}

/** Prints a plan and, unless it is a dry run, begins it. */
async function balance(
  access: Pick<PartitionAccess, 'control' | 'doesWork'>,
  { dryRun = false, wait, json = false }: Omit<BalanceFlags, 'config' | 'controlPort'>,
): Promise<void> {
  const { control } = access;
  const shown = wait ? await measuredPlan(control) : undefined;
  const asked = (): Promise<BalanceInfo> =>
    dryRun ? control.balance(true) : begun(control.balance(false));
  const plan = dryRun && shown !== undefined ? shown : await asked();
  const text = json ? jsonLine(plan) : planLines(plan).map(printable).join('\n');
  process.stdout.write(`${text}\n`);
  if (plan.begun.length === 0) return;
  if (!wait) {
    process.exitCode = stillRunning;
    return;
  }
  await allCarriedOut(access, plan.begun);
  if (!json) process.stdout.write('All of it is over.\n');
}

/** The lines that show a plan and its gaps, such as stores that do not answer. */
export function planLines(plan: BalanceInfo): readonly string[] {
  const { operations, findings, notes, begun, away, unsized } = plan;
  const lines = [...operations, ...findings];
  if (lines.length === 0) {
    lines.push(isMeasured(plan) ? 'There is nothing to do.' : 'Nothing is planned yet.');
  }
  lines.push(...notes);
  if (!isMeasured(plan)) {
    const { measuredMs, neededMs } = plan;
    lines.push(
      `Loads are measured for ${seconds(measuredMs)}, and the plan needs ${seconds(neededMs)} of ` +
        'them: what they call for is not in it. Ask again then.',
    );
  }
  if (unsized > 0) {
    lines.push(`The sizes of ${counted(unsized, 'range')} are not known yet. Ask again.`);
  }
  for (const store of away) {
    lines.push(`The store ${store} does not answer: its ranges stay, and none moves there.`);
  }
  if (begun.length > 0) lines.push(`Operations ${begun.join(', ')} have begun.`);
  return lines;
}

/** The first plan that knows loads, or that has operations without them. */
export async function measuredPlan(
  control: Pick<PartitionControl, 'balance'>,
): Promise<BalanceInfo> {
  let known = { measuredMs: 0, neededMs: 1 };
  const report = showProgress({
    stream: process.stderr,
    share: () => Math.min(1, known.measuredMs / known.neededMs),
    facts: () => [`loads measured for ${seconds(known.measuredMs)} of ${seconds(known.neededMs)}`],
    quietMs,
  });
  const release = onInterrupt(() => report.line('No operation has begun.'));
  try {
    return await finalAnswer(
      async () => {
        const plan = await control.balance(true);
        known = plan;
        return plan;
      },
      (plan) => isMeasured(plan) || plan.operations.length > 0,
      { delayMs: planDelayMs },
    );
  } finally {
    release();
    report.stop();
  }
}

function isMeasured({ measuredMs, neededMs }: BalanceInfo): boolean {
  return measuredMs >= neededMs;
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} s`;
}
