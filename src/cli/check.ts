import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { checkDataDirectory, type CheckReport } from '../app/check.js';
import { CommandFailure, messageOf } from './terminal/failure.js';
import { locationOption } from './arguments/location-option.js';
import { notice } from './terminal/notice.js';
import { counted, grouped, printable } from './terminal/terminal.js';

interface CheckFlags {
  readonly location: string;
}

/** Progress lines where a line cannot be overwritten: every tenth of the file. */
const steps = 10;

export function checkCommand(): Command {
  return new Command('check')
    .summary('look for damage in a data directory that no server uses')
    .description(
      'Read all of a data directory that no server uses and tell whether it holds everything that ' +
        'was written to it. Changes nothing. Exit code 0: it does; 1: it is damaged, or could not ' +
        'be read.',
    )
    .addOption(locationOption('the data directory'))
    .addHelpText('after', '\nExample:\n  tabularium check --location /var/lib/tabularium')
    .action(run);
}

async function run({ location }: CheckFlags): Promise<void> {
  const file = join(location, 'data.mdb');
  const { size } = await stat(file).catch((error: unknown) => {
    throw new CommandFailure(`There are no data to check in ${location}: ${messageOf(error)}`);
  });
  const begin = once(() => notice(`Checking ${file} (${grouped(size)} bytes)`));
  const report = await checkDataDirectory(location, progressLines(begin)).catch(
    (error: unknown) => {
      throw new CommandFailure(messageOf(error), { cause: error });
    },
  );
  begin();
  tell(report);
  const { damage } = report.journal ?? {};
  if (report.damages === 0 && damage === undefined) return;
  if (damage !== undefined) throw new CommandFailure(damage);
  throw new CommandFailure(
    `The data file ${file} is damaged in ${counted(report.damages, 'place')}. Restore a backup of ` +
      'the data directory.',
  );
}

function once(tellBeginning: () => void): () => void {
  let isTold = false;
  return () => {
    if (!isTold) tellBeginning();
    isTold = true;
  };
}

/** Prints nothing for a directory that may not be checked, because there is no progress. */
function progressLines(begin: () => void): (progress: { pages: number; pagesMax: number }) => void {
  let told = 0;
  return ({ pages, pagesMax }) => {
    begin();
    const step = Math.floor((pages / pagesMax) * steps);
    if (step <= told) return;
    told = step;
    notice(`  ${(step * 100) / steps} % of ${grouped(pagesMax)} pages`);
  };
}

function tell({ entries, findings, damages, journal }: CheckReport): void {
  for (const finding of findings) process.stdout.write(`${printable(finding)}\n`);
  const rest = damages - findings.length;
  if (rest > 0) process.stdout.write(`and ${grouped(rest)} more\n`);
  if (damages === 0) {
    // A reader of this line alone has to see that it is not all.
    const none = journal?.damage === undefined ? 'No damage' : 'No damage in the data file';
    process.stdout.write(`${none}: ${grouped(entries)} entries are intact.\n`);
  }
  if (journal !== undefined && journal.damage === undefined) tellJournal(journal.frames);
}

function tellJournal(frames: number): void {
  const left = 'A server did not end in order and has left its journal';
  const what =
    frames === 0
      ? 'the data file has all of its changes. The next start removes it.'
      : `${counted(frames, 'frame')} with changes that the data file may lack, intact. The next ` +
        'start reads them.';
  process.stdout.write(`${left}: ${what}\n`);
}
