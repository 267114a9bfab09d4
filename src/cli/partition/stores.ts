import { resolve } from 'node:path';
import { Command } from 'commander';
import type { NewStore, PartitionControl } from '../../http/control/partitions.js';
import { finalAnswer } from '../client/retry.js';
import { UsageError } from '../terminal/failure.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { notice } from '../terminal/notice.js';
import { quietMs, showProgress } from '../terminal/progress.js';
import { counted } from '../terminal/terminal.js';
import { timeLeft } from '../terminal/time-left.js';
import { tell, withAccess, withPartitions, type AccessFlags } from './access.js';
import { begun } from './interrupted.js';
import { askedAgain, stillRunning } from './waiting.js';

/** The delay between two questions about a store that is being emptied. */
const drainDelayMs = { first: 500, last: 500 } as const;
const urlForm = /^postgres(?:ql)?:\/\//;
const otherUrlForm = /^[a-z][a-z0-9+.-]*:\/\//i;

interface AddFlags extends AccessFlags {
  readonly schema?: string;
}

interface RemoveFlags extends AccessFlags {
  readonly lost?: boolean;
}

interface DrainFlags extends AccessFlags {
  readonly wait: boolean;
}

/** The commands about the stores of a server. */
export function partitionStoreCommand(): Command {
  return new Command('store')
    .summary('take stores in, empty them and take them out')
    .description('Take stores into the data of a server, empty them and take them out.')
    .addCommand(addCommand())
    .addCommand(drainCommand())
    .addCommand(removeCommand());
}

function addCommand(): Command {
  const command = new Command('add')
    .summary('take a store in, or take back one that is emptied')
    .description(
      'Take an empty location in as a store of the data, while the server runs. Name it in stores of ' +
        'the configuration as well: the next start needs it there. Servers that share the data are ' +
        'asked one by one. Without a location: take back a store that is being emptied.',
    )
    .argument('<name>', 'its name: lower-case letters, digits and -')
    .argument('[location]', 'a data directory, or the URL of a database: postgres://…')
    .option('--schema <name>', 'the schema of the tables in the database');
  return withAccess(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition store add b /mnt/b/tabularium --control-port 10009
  tabularium partition store add c postgres://tabularium@db-c/tabularium --control-port 10009`,
    )
    .action((name: string, location: string | undefined, flags: AddFlags) =>
      withPartitions(flags, async (control) => {
        await control.addStore(name, newStore(location, flags.schema));
        tell(flags, { added: name }, `The store ${name} takes ranges.`);
        if (location === undefined || flags.json === true) return;
        notice(`Name it in the configuration of every server: stores: ${name}.`);
      }),
    );
}

function newStore(location: string | undefined, schema: string | undefined): NewStore {
  if (location !== undefined && urlForm.test(location)) {
    return { postgresUrl: location, ...(schema !== undefined && { postgresSchema: schema }) };
  }
  if (location !== undefined && otherUrlForm.test(location)) {
    throw new UsageError(
      'The location is the URL of something else than a database of PostgreSQL: give a data directory, ' +
        'or postgres://….',
    );
  }
  if (schema !== undefined) throw new UsageError('--schema is for a database: leave it out.');
  if (location === '')
    throw new UsageError('The location is empty: give a directory or a database.');
  return location === undefined ? {} : { location: resolve(location) };
}

function drainCommand(): Command {
  const command = new Command('drain')
    .summary('move all ranges of a store to others')
    .description(
      'Move all ranges of a store to others, one after the other, while they are used. No range ' +
        'moves to it any more. A server goes on with it when the command is stopped. Exit code 0: ' +
        'it is empty; 2: refused; 3: still running.',
    )
    .argument('<name>', 'its name')
    .option('--no-wait', 'do not wait for its end: exit code 3');
  return withAccess(command)
    .addHelpText('after', '\nExamples:\n  tabularium partition store drain b --control-port 10009')
    .action((name: string, flags: DrainFlags) =>
      withPartitions(flags, async (control) => {
        await begun(control.drainStore(name));
        if (flags.wait) {
          await emptied(control, name);
          return tell(flags, { empty: name }, `The store ${name} is empty.`);
        }
        tell(flags, { draining: name }, `The store ${name} is being emptied.`);
        process.exitCode = stillRunning;
      }),
    );
}

/**
 * Resolves when the store has no range and nothing is moved from it. Says on stderr why a range
 * does not leave.
 */
export async function emptied(
  control: Pick<PartitionControl, 'list'>,
  name: string,
): Promise<void> {
  let told: string | undefined;
  const rangesOf = async (): Promise<number> => {
    const { stores, operations } = await control.list();
    const store = stores.find((each) => each.store === name);
    // A range that another store serves by now may still be deleted here.
    const moves = operations.filter(({ from }) => from === name);
    const problem = store?.problem ?? moves.find((move) => move.problem !== undefined)?.problem;
    if (problem !== undefined && problem !== told) notice(problem);
    told = problem ?? told;
    return Math.max(store?.ranges ?? 0, moves.length);
  };
  let ranges = 0;
  let before = 0;
  const share = (): number => 1 - ranges / Math.max(1, before);
  const remaining = timeLeft(share);
  const facts = (): readonly string[] => [`${counted(ranges, 'range')} to move`, remaining()];
  const report = showProgress({ stream: process.stderr, share, facts, quietMs });
  const release = onInterrupt(() =>
    report.line(
      `A server goes on emptying the store ${name}. See tabularium partition list. To keep the ranges ` +
        `that are left: tabularium partition store add ${name}.`,
    ),
  );
  try {
    await finalAnswer(
      async () => {
        ranges = await rangesOf();
        before = Math.max(before, ranges);
        return ranges;
      },
      (left) => left === 0,
      { delayMs: drainDelayMs, onAway: (reason) => report.line(askedAgain(reason)) },
    );
  } finally {
    release();
    report.stop();
  }
}

function removeCommand(): Command {
  const command = new Command('remove')
    .summary('take an empty store out')
    .description(
      'Take an empty store, or several, out of the data. Its location is free for other uses then. Take it out of ' +
        'the configuration as well: the next start would take it in again. Servers that share the ' +
        'data are asked one by one. Name all stores that are lost in one command with --config.',
    )
    .argument('<names...>', 'its name, or those of several')
    .option(
      '--lost',
      'its location will never answer again: take it out without asking it. It must have no range. ' +
        'Moves to it are cancelled, and its name is not used again',
    );
  return withAccess(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition store remove b --control-port 10009
  tabularium partition store remove b --lost --config tabularium.yaml
  tabularium partition store remove b c --lost --config tabularium.yaml`,
    )
    .action((names: readonly string[], flags: RemoveFlags) => {
      const { lost = false } = flags;
      const remove = async (control: PartitionControl): Promise<void> => {
        for (const name of new Set(names)) {
          await control.removeStore(name, { lost });
          tell(flags, { removed: name }, `The store ${name} is taken out.`);
          if (!lost || flags.json === true) continue;
          notice(`Take it out of the configuration of every server: stores: ${name}.`);
        }
      };
      return withPartitions(flags, remove, lost ? { without: names } : { removing: names });
    });
}
