import { byteText } from '../../base/byte-text.js';
import type { IsResult } from '../../http/control/job-results.js';
import {
  noOperation,
  type JobInfo,
  type OperationInfo,
  type PartitionControl,
  type Started,
} from '../../http/control/partitions.js';
import { otherRelease } from '../client/control-client.js';
import { finalAnswer } from '../client/retry.js';
import { CommandFailure, UsageError } from '../terminal/failure.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { notice } from '../terminal/notice.js';
import type { PartitionAccess } from './access.js';
import { operationsGoOn, type WorkPlace } from './interrupted.js';
import { quietMs, showProgress } from '../terminal/progress.js';
import { grouped, jsonLine } from '../terminal/terminal.js';
import { timeLeft } from '../terminal/time-left.js';

/** Exit codes beside 0, done, 1, failed, and 2, refused. */
export const stillRunning = 3;

/**
 * Waits for the end of an operation and shows its progress. Throws when it failed. When a signal
 * ends the process before, it says what goes on: this operation, and `others`, which are next.
 */
export async function operationEnd(
  control: Pick<PartitionControl, 'operation'>,
  operation: number,
  { doesWork, others = [] }: WorkPlace & { readonly others?: readonly number[] } = {
    doesWork: false,
  },
): Promise<OperationInfo> {
  let last: OperationInfo | undefined;
  const share = (): number => (last?.bytesCopied ?? 0) / Math.max(1, last?.bytesTotal ?? 1);
  const left = timeLeft(share);
  const facts = (): readonly string[] => {
    const copied = last?.bytesCopied;
    return [
      last?.step ?? last?.kind ?? 'operation',
      ...(copied === undefined ? [] : [byteText(copied), left()]),
    ];
  };
  const report = showProgress({ stream: process.stderr, share, facts, quietMs });
  const release = onInterrupt(() => {
    const kind = others.length === 0 ? last?.kind : undefined;
    report.line(operationsGoOn([operation, ...others], { doesWork, kind }));
  });
  let told: string | undefined;
  try {
    return await finalAnswer(
      async () => {
        last = await control.operation(operation);
        if (last === undefined) throw new CommandFailure(noOperation(operation));
        if (last.state === 'failed') throw new CommandFailure(last.problem ?? 'It failed.');
        const isNew = last.problem !== undefined && last.problem !== told;
        if (last.state === 'running' && isNew) {
          // Of a cancelled move the problem says itself what is tried again.
          const again = last.step === 'cancel' ? '' : 'It will be tried again: ';
          report.line(`${again}${last.problem}`);
        }
        told = last.problem;
        return last;
      },
      ({ state }) => state !== 'running',
      { onAway: (reason) => report.line(askedAgain(reason)) },
    );
  } finally {
    release();
    report.stop();
  }
}

/** What is said when the server cannot tell how far it is. The work goes on there. */
export function askedAgain(reason: string): string {
  return `The server cannot tell now how far it is, and is asked again: ${reason}`;
}

/**
 * The result of a job, as `jobEnd` waits for it. Throws `CommandFailure` for a result of another
 * form.
 */
export async function jobResult<Result>(
  control: Pick<PartitionControl, 'job'>,
  job: number,
  isResult: IsResult<Result>,
  interrupted?: string,
): Promise<Result> {
  const { result } = await jobEnd(control, job, interrupted);
  if (isResult(result)) return result;
  throw new CommandFailure(
    `Job ${job} is done, and its result is not one that this command knows: ${otherRelease}`,
  );
}

/**
 * Waits for the end of a job and shows its progress. Throws when it failed, and `UsageError` when
 * it was refused. `interrupted`: what to say when a signal ends the process before.
 */
export async function jobEnd(
  control: Pick<PartitionControl, 'job'>,
  job: number,
  interrupted?: string,
): Promise<JobInfo> {
  let last: JobInfo | undefined;
  const share = (): number | undefined =>
    last?.total === undefined ? undefined : last.done / Math.max(1, last.total);
  const left = timeLeft(() => share() ?? 0);
  const facts = (): readonly string[] => {
    const { done = 0, unit = '', total } = last ?? {};
    const shown = unit === 'bytes' ? byteText(done) : `${grouped(done)} ${unit}`;
    return [shown, ...(total === undefined ? [] : [left()])];
  };
  const report = showProgress({ stream: process.stderr, share, facts, quietMs });
  const release = onInterrupt(() => {
    if (interrupted !== undefined) report.line(interrupted);
  });
  try {
    return await finalAnswer(
      async () => {
        last = await control.job(job);
        if (last === undefined) throw new CommandFailure('The server was started anew: try again.');
        if (last.state === 'failed') throw new CommandFailure(last.problem ?? 'It failed.');
        if (last.state === 'refused') throw new UsageError(last.problem ?? 'It was refused.');
        return last;
      },
      ({ state }) => state === 'done',
      { onAway: (reason) => report.line(askedAgain(reason)) },
    );
  } finally {
    release();
    report.stop();
  }
}

/** Reports an operation that has begun and, if wanted, waits for its end and reports that. */
export async function carriedOut(
  { control, doesWork }: Pick<PartitionAccess, 'control' | 'doesWork'>,
  { operation, newRanges }: Started,
  how: { readonly wait: boolean; readonly json?: boolean; readonly done: string },
): Promise<void> {
  const { wait, json = false, done } = how;
  const made = newRanges && { newRanges };
  if (!json) notice(`Operation ${operation} has begun.`);
  if (!wait) {
    if (json) process.stdout.write(`${JSON.stringify({ operation, state: 'running', ...made })}\n`);
    else if (doesWork) notice(operationsGoOn([operation], { doesWork }));
    process.exitCode = stillRunning;
    return;
  }
  const end = await operationEnd(control, operation, { doesWork });
  if (json) process.stdout.write(`${jsonLine({ ...end, ...made })}\n`);
  if (end.state === 'cancelled') throw new CommandFailure(cancelled(operation, end));
  if (!json) process.stdout.write(`${done}\n`);
}

/**
 * Waits for the ends of all operations. Throws when any failed or was cancelled, and names these.
 */
export async function allCarriedOut(
  {
    control,
    doesWork,
  }: Pick<PartitionAccess, 'doesWork'> & {
    readonly control: Pick<PartitionControl, 'operation'>;
  },
  operations: readonly number[],
): Promise<void> {
  const failures: string[] = [];
  for (const [index, operation] of operations.entries()) {
    try {
      const others = operations.slice(index + 1);
      const end = await operationEnd(control, operation, { doesWork, others });
      if (end.state === 'cancelled') failures.push(cancelled(operation, end));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      failures.push(`Operation ${operation} failed: ${error.message}`);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures);
}

function cancelled(operation: number, { problem = '' }: OperationInfo): string {
  return `Operation ${operation} was cancelled. ${problem}`.trim();
}
