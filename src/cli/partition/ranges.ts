import { Argument, Command, InvalidArgumentError } from 'commander';
import { isCancelResult, isStarted } from '../../http/control/job-results.js';
import {
  noOperation,
  type OperationInfo,
  type PartitionControl,
  type Started,
} from '../../http/control/partitions.js';
import { wholeNumber } from '../arguments/option-parsers.js';
import { finalAnswer } from '../client/retry.js';
import { CommandFailure } from '../terminal/failure.js';
import { notice } from '../terminal/notice.js';
import { withAccess, withPartitions, type AccessFlags, type PartitionAccess } from './access.js';
import { begun, halvingGoesOn, undoingGoesOn } from './interrupted.js';
import { askedAgain, carriedOut, jobResult, stillRunning } from './waiting.js';

const idMax = 1e14;

interface WaitFlags extends AccessFlags {
  readonly wait: boolean;
}

const exitCodes =
  'Exit code 0: done; 1: failed or cancelled; 2: refused, nothing was changed; 3: still running.';

export function rangeArgument(name: string, what: string): Argument {
  return new Argument(`<${name}>`, what).argParser(wholeNumber(1, idMax));
}

export function optionalRangeArgument(name: string, what: string): Argument {
  return new Argument(`[${name}]`, what).argParser(wholeNumber(1, idMax));
}

function waiting(command: Command): Command {
  return withAccess(command).option('--no-wait', 'do not wait for its end: exit code 3');
}

export function partitionSplitCommand(): Command {
  const command = new Command('split')
    .summary('make two ranges of one')
    .description(`Make two ranges of one, between two partitions. Nothing is copied. ${exitCodes}`)
    .addArgument(rangeArgument('range', 'its number'))
    .option(
      '--at <place>',
      'the first partition of the second range, such as table/ACCOUNT/TABLE/PARTITION, or its ' +
        'beginning. Default: where both ranges have about the same size, which reads all keys',
    );
  return waiting(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition split 2 --control-port 10009
  tabularium partition split 2 --at table/devstoreaccount1/movies/Drama --config tabularium.yaml`,
    )
    .action((range: number, flags: WaitFlags & { readonly at?: string }) =>
      withPartitions(flags, async (control, access) => {
        const { at } = flags;
        const started =
          at === undefined ? await halved(access, range) : await begun(control.split(range, at));
        const done = `Range ${range} is split${madeText(' into ', started)}.`;
        await carriedOut(access, started, { ...flags, done });
      }),
    );
}

/** The ranges that an operation makes; nothing when the server does not tell them. */
function madeText(before: string, { newRanges = [] }: Started): string {
  return newRanges.length === 0 ? '' : `${before}${newRanges.join(' and ')}`;
}

async function halved(access: PartitionAccess, range: number): Promise<Started> {
  const { job } = await begun(access.control.halve(range));
  return jobResult(access.control, job, isStarted, halvingGoesOn(range, access));
}

export function partitionMergeCommand(): Command {
  const command = new Command('merge')
    .summary('make one range of two neighbours')
    .description(
      `Make one range of two that follow each other in the same store. Nothing is copied. ${exitCodes}`,
    )
    .addArgument(rangeArgument('first', 'the number of the first range'))
    .addArgument(rangeArgument('second', 'the number of the range behind it'));
  return waiting(command)
    .addHelpText('after', '\nExamples:\n  tabularium partition merge 4 5 --control-port 10009')
    .action((first: number, second: number, flags: WaitFlags) =>
      withPartitions(flags, async (control, access) => {
        const started = await begun(control.merge(first, second));
        const done = `Ranges ${first} and ${second} are one${madeText(': ', started)}.`;
        await carriedOut(access, started, { ...flags, done });
      }),
    );
}

interface MoveFlags extends WaitFlags {
  readonly to: string;
  readonly pauseMax?: number;
}

export function partitionMoveCommand(): Command {
  const command = new Command('move')
    .summary('move a range to another store, while it is used')
    .description(
      'Copy a range to another store while requests use it, and let that store serve it then. ' +
        'Writes wait for a moment in the end. A move whose process is killed goes on in another ' +
        `one. ${exitCodes}`,
    )
    .addArgument(rangeArgument('range', 'its number'))
    .requiredOption('--to <store>', 'the name of the store')
    .option(
      '--pause-max <time>',
      'writes wait so long for the end, about; when it takes longer, the move catches up again, ' +
        'such as 500ms or 2s. Default: 2s',
      milliseconds,
    );
  return waiting(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition move 5 --to b --control-port 10009
  tabularium partition move 5 --to b --pause-max 500ms --no-wait --json --config tabularium.yaml`,
    )
    .action((range: number, flags: MoveFlags) =>
      withPartitions(flags, async (control, access) => {
        const started = await begun(control.move(range, flags.to, flags.pauseMax));
        const done = `Range ${range} is in the store ${flags.to}.`;
        await carriedOut(access, started, { ...flags, done });
      }),
    );
}

/** What is left to do of an operation that is undone; undefined when nothing is. */
export function leftText(left: OperationInfo | undefined): string | undefined {
  if (left?.state !== 'running') return undefined;
  const { ranges = [], from = '', to = '' } = left;
  return (
    `Range ${ranges.join(', ')} is served from ${from} as before. What was copied to ${to} is not ` +
    `deleted yet: a server does that as soon as ${to} can be written. Until then the range can ` +
    `neither move nor split nor merge. When ${to} never can: tabularium partition store remove ${to} ` +
    '--lost.'
  );
}

/**
 * Whether the work of a cancellation goes on. Resolves when it is over, or when the operation is
 * marked as cancelled, so that any process goes on with that.
 */
export async function isStillUndone(
  control: Pick<PartitionControl, 'job' | 'operation'>,
  { job, operation }: { readonly job: number; readonly operation: number },
): Promise<boolean> {
  const { isRunning } = await finalAnswer(
    async () => {
      const step = (await control.operation(operation))?.step;
      return { isRunning: (await control.job(job))?.state === 'running', step };
    },
    (found) => !found.isRunning || found.step === 'cancel',
    { onAway: (reason) => notice(askedAgain(reason)) },
  );
  return isRunning;
}

export function partitionCancelCommand(): Command {
  const command = new Command('cancel')
    .summary('undo a move that has not switched yet, a backup or a restore')
    .description(
      'Undo a move whose range is still served by the store that it leaves, or a backup or a restore ' +
        'that is not over. Splits and merges are over at once. Exit code 0: it is undone; 1: it has gone too far, or is over; 3: still ' +
        'running.',
    )
    .addArgument(rangeArgument('operation', 'its number'));
  return withAccess(command)
    .option('--no-wait', 'do not wait until what was copied is deleted: exit code 3')
    .addHelpText('after', '\nExamples:\n  tabularium partition cancel 9 --control-port 10009')
    .action((operation: number, flags: WaitFlags) =>
      withPartitions(flags, async (control, { doesWork }) => {
        const { job } = await begun(control.cancel(operation));
        const interrupted = undoingGoesOn(operation, { doesWork });
        if (!flags.wait && (await isStillUndone(control, { job, operation }))) {
          if (flags.json === true)
            process.stdout.write(`${JSON.stringify({ operation, state: 'running' })}\n`);
          else
            notice(
              `Operation ${operation} is being undone: what it has copied is deleted. ${interrupted}`,
            );
          process.exitCode = stillRunning;
          return;
        }
        const { cancelled } = await jobResult(control, job, isCancelResult, interrupted);
        if (flags.json === true) process.stdout.write(`${JSON.stringify({ cancelled })}\n`);
        if (!cancelled) {
          const found = await control.operation(operation);
          throw new CommandFailure(
            found === undefined
              ? noOperation(operation)
              : `Operation ${operation} cannot be undone: it has gone too far, or is over.`,
          );
        }
        if (flags.json === true) return;
        process.stdout.write(`Operation ${operation} is undone.\n`);
        const left = leftText(await control.operation(operation));
        if (left !== undefined) notice(left);
      }),
    );
}

const pauseMsMax = 60_000;

function milliseconds(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,6})(ms|s)$/.exec(text) ?? [];
  const value = Number(digits) * (unit === 's' ? 1_000 : 1);
  if (digits !== '' && value >= 1 && value <= pauseMsMax) return value;
  throw new InvalidArgumentError('It must be 1ms to 60s, written like 500ms or 2s.');
}
