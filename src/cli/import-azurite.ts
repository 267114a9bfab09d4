import { Command, Option } from 'commander';
import { seededNothing, type SeedProgress } from '../app/seed/seed-data.js';
import { systemClock } from '../base/clock.js';
import type { Refuse, StoredAccounts } from './azurite/stored-data.js';
import { CommandFailure } from './terminal/failure.js';
import { reportProgress } from './import/progress.js';
import { locationOption } from './arguments/shared-options.js';
import { notice } from './terminal/notice.js';
import { counted } from './terminal/terminal.js';

interface ImportFlags {
  readonly location: string;
  readonly ifExists: 'skip' | 'replace';
  readonly dryRun?: boolean;
}

/** Refusals that are printed; the rest is counted. */
const printedMax = 20;

export function importAzuriteCommand(): Command {
  return new Command('azurite')
    .summary('take over the tables and queues of Azurite')
    .description(
      'Copy tables and queues from the data directory of Azurite into one of this server. Neither ' +
        'may be in use. An interrupted import continues when it is run again.',
    )
    .argument('<directory>', 'what Azurite was given with --location')
    .addOption(locationOption('the data directory to write to; made when absent'))
    .addOption(
      new Option(
        '--if-exists <what>',
        'entities and queues that are there: leave or overwrite them',
      )
        .choices(['skip', 'replace'])
        .default('skip'),
    )
    .option('--dry-run', 'read and check everything, say what would be done, and write nothing')
    .addHelpText(
      'after',
      `
Examples:
  tabularium import azurite ./azurite-data --dry-run
  tabularium import azurite ./azurite-data --location ./data`,
    )
    .action(importAzurite);
}

async function importAzurite(directory: string, flags: ImportFlags): Promise<void> {
  let refused = 0;
  const refuse: Refuse = (location, reason) => {
    refused += 1;
    if (refused <= printedMax) notice(`Refused: ${location}: ${reason}`);
  };
  // Loaded on demand: they take most of the start-up time of other commands.
  const { readAzuriteData } = await import('./azurite/read-data.js');
  const nowMs = systemClock.nowMicros() / 1000;
  const { accounts, expired, blobs } = await readAzuriteData(directory, nowMs, refuse);
  if (accounts.size === 0) throw new CommandFailure(`${directory} holds no tables and no queues.`);
  const lines =
    flags.dryRun === true
      ? contents('Would import', accounts)
      : outcome(accounts, await write(accounts, flags, refuse));
  for (const line of lines) notice(line);
  if (expired > 0) notice(`Left out: ${counted(expired, 'expired message')}.`);
  if (blobs > 0) notice(`Left out: ${counted(blobs, 'blob')}; blobs are not taken over.`);
  if (refused > printedMax) notice(`${counted(refused - printedMax, 'refusal')} more.`);
  if (refused > 0) process.exitCode = 1;
}

async function write(
  accounts: StoredAccounts,
  { location, ifExists }: ImportFlags,
  refuse: Refuse,
): Promise<SeedProgress> {
  const { writeAccounts } = await import('./azurite/write-data.js');
  let done = seededNothing;
  const report = reportProgress({
    stream: process.stderr,
    bytesTotal: sum(accounts, 'entities') + sum(accounts, 'messages'),
    counts: () => {
      const rows = done.entities + done.messages;
      return { rows, refused: 0, bytes: rows };
    },
  });
  try {
    await writeAccounts(
      accounts,
      { location, ifExists, progress: (progress) => (done = progress) },
      refuse,
    );
  } finally {
    report.stop();
  }
  return done;
}

function sum(accounts: StoredAccounts, what: 'entities' | 'messages'): number {
  const lists = [...accounts.values()].flatMap(({ tables, queues }) =>
    what === 'entities'
      ? [...tables.values()].map(({ entities }) => entities.length)
      : [...queues.values()].map(({ messages }) => messages.length),
  );
  return lists.reduce((total, length) => total + length, 0);
}

/** Counts what was written and what existed. */
function outcome(accounts: StoredAccounts, done: SeedProgress): readonly string[] {
  const { entities, messages, keptEntities, keptQueues } = done;
  if (keptEntities + keptQueues === 0) return contents('Imported', accounts);
  return [
    ...contents('Found', accounts),
    `Imported: ${entitiesText(entities - keptEntities)}, ${counted(messages, 'message')}.`,
    `Left as they were, because they are there already: ${entitiesText(keptEntities)}, ` +
      `${counted(keptQueues, 'queue')}. Use --if-exists replace to overwrite them.`,
  ];
}

function contents(verb: string, accounts: StoredAccounts): readonly string[] {
  return [...accounts].map(([name, account]) => {
    const one: StoredAccounts = new Map([[name, account]]);
    const { tables, queues } = account;
    return (
      `${verb} ${name}: ${counted(tables.size, 'table')} with ` +
      `${entitiesText(sum(one, 'entities'))}, ${counted(queues.size, 'queue')} with ` +
      `${counted(sum(one, 'messages'), 'message')}.`
    );
  });
}

function entitiesText(count: number): string {
  return count === 1 ? '1 entity' : `${count.toLocaleString('en-US')} entities`;
}
