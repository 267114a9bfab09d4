import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { unreachable } from '../base/invariant.js';
import { byteText } from '../base/byte-text.js';
import type { CheckReport } from '../app/check.js';
import type { ContentDamage } from '../app/check-content.js';
import { CommandFailure, messageOf } from './terminal/failure.js';
import { JournalProgress } from './journal-progress.js';
import { locationOption } from './arguments/shared-options.js';
import { notice } from './terminal/notice.js';
import { counted, grouped, printable } from './terminal/terminal.js';
import { TransferProgress } from './transfer/transfer-progress.js';

interface CheckFlags {
  readonly location: string;
  /** Whether the bytes of blobs are read. */
  readonly content: boolean;
}

/** Progress lines where a line cannot be overwritten: every tenth of the file. */
const steps = 10;

export function checkCommand(): Command {
  return new Command('check')
    .summary('look for damage in a data directory that no server uses')
    .description(
      'Read all of a data directory that no server uses, the content of blobs included, and ' +
        'tell whether it holds everything that was written to it. Changes nothing. Exit code 0: it does; 1: it is damaged, or could not ' +
        'be read.',
    )
    .addOption(locationOption('the data directory'))
    .option('--no-content', 'leave out the content of blobs, which may take long to read')
    .addHelpText(
      'after',
      '\nExamples:\n  tabularium check --location /var/lib/tabularium\n  tabularium check --no-content',
    )
    .action(run);
}

async function run({ location, content }: CheckFlags): Promise<void> {
  const file = join(location, 'data.mdb');
  const { size } = await stat(file).catch((error: unknown) => {
    throw new CommandFailure(`There are no data to check in ${location}: ${messageOf(error)}`);
  });
  const { checkDataDirectory } = await import('../app/check.js');
  const begin = once(() => notice(`Checking ${file} (${grouped(size)} bytes)`));
  const journal = new JournalProgress(process.stderr, begin);
  const report = await checkDataDirectory(location, {
    pages: progressLines(begin),
    journal: (files) => journal.read(files),
  })
    .catch((error: unknown) => {
      throw new CommandFailure(messageOf(error), { cause: error });
    })
    .finally(() => journal.stop());
  begin();
  tell(report);
  assertSound(file, report);
  if (content) await readContent(location, report);
}

function assertSound(file: string, { damages, journal }: CheckReport): void {
  if (journal?.damage !== undefined) throw new CommandFailure(journal.damage);
  if (damages === 0) return;
  throw new CommandFailure(
    `The data file ${file} is damaged in ${counted(damages, 'place')}. ${advice}`,
  );
}

const advice = 'Restore a backup of the data directory.';

/** Compares the files of the content with what the data file and the journal name. */
async function readContent(location: string, report: CheckReport): Promise<void> {
  const { checkContent } = await import('../app/check-content.js');
  let bytesNamed = 0;
  const progress = new TransferProgress(process.stderr, () => bytesNamed);
  const { files, damages, leftovers } = await checkContent(location, report, {
    begin: ({ bytes }) => {
      bytesNamed = bytes;
    },
    read: (bytes) => progress.add(bytes),
    damage: (damage) => progress.print(damageText(damage)),
  })
    .catch((error: unknown) => {
      throw new CommandFailure(messageOf(error), { cause: error });
    })
    .finally(() => progress.stop());
  if (damages === 0) {
    const size = byteText(progress.bytes);
    process.stdout.write(
      `No damage: ${counted(files, 'file')} of content, ${size}, ${areIntact(files)}.\n`,
    );
  }
  if (leftovers > 0) {
    const what =
      leftovers === 1
        ? '1 file is of no blob: it was'
        : `${grouped(leftovers)} files are of no blob: they were`;
    process.stdout.write(`${what} given up, or left by a crash. A server deletes such files.\n`);
  }
  if (damages === 0) return;
  throw new CommandFailure(
    `The content of ${location} is damaged in ${counted(damages, 'file')}. ${advice}`,
  );
}

function areIntact(files: number): string {
  return files === 1 ? 'is intact' : 'are intact';
}

function damageText({ account, container, blob, file, ...fault }: ContentDamage): string {
  return `${account}: ${container}/${blob}: ${file} ${faultText(fault)}`;
}

function faultText({ problem, offset }: Pick<ContentDamage, 'problem' | 'offset'>): string {
  const at = `from byte ${grouped(offset)} of the content on`;
  switch (problem) {
    case 'missing':
      return 'is missing';
    case 'short':
      return `ends after ${counted(offset, 'byte')} of content, which are fewer than the blob names`;
    case 'truncated':
      return 'is shorter than it was written, or has lost its end';
    case 'damaged':
      return `does not match its checksums, ${at}`;
    case 'unreadable':
      return `cannot be read from the disk, ${at}`;
    default:
      return unreachable(problem);
  }
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
    // This line must show that the count is not complete.
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
