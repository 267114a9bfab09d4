import { resolve } from 'node:path';
import { Command } from 'commander';
import { isRestoreResult } from '../../http/control/job-results.js';
import { UsageError } from '../terminal/failure.js';
import { notice } from '../terminal/notice.js';
import { printable } from '../terminal/terminal.js';
import { tell, withAccess, withPartitions, type AccessFlags } from './access.js';
import { begun, copyGoesOn } from './interrupted.js';
import { rangeArgument } from './ranges.js';
import { jobEnd, jobResult } from './waiting.js';

interface BackupFlags extends AccessFlags {
  readonly to: string;
}

interface RestoreFlags extends AccessFlags {
  readonly from: string;
  readonly as?: string;
  readonly of?: string;
}

export function partitionBackupCommand(): Command {
  const command = new Command('backup')
    .summary('copy a range into a directory, as it is at one moment')
    .description(
      'Copy the entries of a range with their versions into a new data directory, as they are at ' +
        'one moment, while the range is used. Writes wait for a moment in the end. The directory is ' +
        'on the machine of the server; tabularium check reads it. Exit code 0: done; 1: failed; 2: ' +
        'refused.',
    )
    .addArgument(rangeArgument('range', 'its number'))
    .requiredOption('--to <directory>', 'a new directory, or an empty one');
  return withAccess(command)
    .addHelpText(
      'after',
      '\nExamples:\n  tabularium partition backup 5 --to /backup/sales-2024 --control-port 10009',
    )
    .action((range: number, flags: BackupFlags) =>
      withPartitions(flags, async (control, access) => {
        const directory = pathOf('to', flags.to);
        const { job, operation } = await begun(control.backUp(range, directory));
        const kind = 'backup';
        await jobEnd(control, job, copyGoesOn(access, { kind, range, directory, operation }));
        tell(flags, { range, directory }, `Range ${range} is in ${directory}.`);
      }),
    );
}

export function partitionRestoreCommand(): Command {
  const command = new Command('restore')
    .summary('put the entries of a backup into an empty range')
    .description(
      'Put the entries of a backup into a range that has none, with the versions that they had. ' +
        'The range serves nobody meanwhile. Exit code 0: done; 1: failed, and the range is empty; ' +
        '2: refused.',
    )
    .addArgument(rangeArgument('range', 'its number; all partitions of the backup are in it'))
    .requiredOption('--from <directory>', 'the backup')
    .option(
      '--as <place>',
      'the table or queue that gets the entries, such as table/ACCOUNT/TABLE, in another account or ' +
        'beside the one that they were of. It must exist. Default: the one that they were of, which ' +
        'must exist still: entries of others are left out',
    )
    .option(
      '--of <place>',
      'with --as, of a backup of several tables or queues: the one whose entries are restored, such ' +
        'as table/ACCOUNT/#7, or by its name where the backup has that. Default: the only one',
    );
  return withAccess(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition restore 5 --from /backup/sales-2024 --control-port 10009
  tabularium partition restore 9 --from /backup/sales --as table/test/sales --control-port 10009
  tabularium partition restore 9 --from /backup/all --of table/test/#7 --as table/test/sales \\
    --control-port 10009`,
    )
    .action((range: number, flags: RestoreFlags) =>
      withPartitions(flags, async (control, access) => {
        const directory = pathOf('from', flags.from);
        const { as, of } = flags;
        if (of !== undefined && as === undefined)
          throw new UsageError('--of needs --as beside it.');
        const choice = { ...(as !== undefined && { as }), ...(of !== undefined && { of }) };
        const { job, operation } = await begun(control.restore(range, directory, choice));
        const kind = 'restore';
        const interrupted = copyGoesOn(access, { kind, range, directory, operation });
        const { leftOut } = await jobResult(control, job, isRestoreResult, interrupted);
        for (const place of leftOut) {
          notice(printable(`Nothing of ${place} was restored: it does not exist any more.`));
        }
        tell(flags, { range, directory, leftOut }, `Range ${range} has what ${directory} has.`);
      }),
    );
}

function pathOf(name: string, text: string): string {
  if (text === '') throw new UsageError(`--${name} is empty: give a directory.`);
  return resolve(text);
}
