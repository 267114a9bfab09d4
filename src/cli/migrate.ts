import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import type {
  Migration,
  MigrationListener,
  MigrationPhase,
} from '../app/migration/offline/migrate.js';
import type { DataLocation } from '../app/migration/data-location.js';
import { optionTable } from '../app/options/table.js';
import { byteText } from '../base/byte-text.js';
import { controlPortOption } from './arguments/shared-options.js';
import { cancelOnline, migrateOnline } from './migrate-online.js';
import { CommandFailure, messageOf, UsageError } from './terminal/failure.js';
import { notice } from './terminal/notice.js';
import { quietMs, rateOf, showProgress, type ProgressReport } from './terminal/progress.js';
import { counted, grouped } from './terminal/terminal.js';
import { timeLeft } from './terminal/time-left.js';

interface MigrateFlags {
  readonly from?: string;
  readonly to?: string;
  readonly fromLocation?: string;
  readonly toLocation?: string;
  readonly fromSchema?: string;
  readonly toSchema?: string;
  readonly online?: boolean;
  readonly controlPort?: number;
  readonly cancel?: boolean;
}

/** Stands for the database of the environment, whose URL may have a password. */
const databaseWord = 'postgres';
const urlForm = /^postgres(?:ql)?:\/\//;
const urlVariable = 'TABULARIUM_POSTGRES_URL';
const schemaDefault = `default: ${optionTable.postgresSchema.defaultValue}`;

export function migrateCommand(): Command {
  const locations =
    'a data directory; the URL of a database, postgres://…; or the word postgres, for the database ' +
    `of ${urlVariable}`;
  return new Command('migrate')
    .summary('copy all data between a data directory and a database')
    .description(
      'Copy all data that no server uses into an empty location, versions included, and compare what ' +
        'is there then. A copy that was cut off goes on when it is run again. The source keeps its ' +
        'data. With --online the server that runs moves its own data, goes on serving meanwhile, and ' +
        'hands over in the end. Exit code 0: source and target are the same; 1: they are not, and the ' +
        'message says why.',
    )
    .option('--from <location>', `the source: ${locations}`)
    .option('--to <location>', 'the target, which is empty or absent: as --from')
    .addOption(directoryOption('from', 'where the servers of a source database keep large blobs'))
    .addOption(directoryOption('to', 'where the servers of a target database will keep them'))
    .option('--from-schema <name>', `the schema of the source in its database (${schemaDefault})`)
    .option('--to-schema <name>', `the schema of the target in its database (${schemaDefault})`)
    .option(
      '--online',
      'move the data of a server while it serves; --control-port instead of --from',
    )
    .addOption(controlPortOption('the control API of the server whose data move'))
    .option(
      '--cancel',
      'call off what runs (with --online), or give the source back its data after a server that ' +
        'ended at the end of a move',
    )
    .addHelpText(
      'after',
      `
Examples:
  tabularium migrate --from ./data --to postgres --to-location /var/lib/tabularium
  tabularium migrate --from postgres --from-location /var/lib/tabularium --to ./data
  tabularium migrate --from ./data --to /mnt/larger/data
  tabularium migrate --online --to postgres --to-location /var/lib/tabularium --control-port 10009`,
    )
    .action(run);
}

function directoryOption(side: 'from' | 'to', what: string): Option {
  const { startDefault } = optionTable.location;
  return new Option(`--${side}-location <directory>`, `${what} (default: ${startDefault})`);
}

async function run(flags: MigrateFlags): Promise<void> {
  if (flags.online === true) return runOnline(flags);
  const from = locationOf('from', flags.from, flags.fromLocation, flags.fromSchema);
  const to = locationOf('to', flags.to, flags.toLocation, flags.toSchema);
  if (flags.cancel === true) return runTakeBack(from, to);
  // Loaded on demand: engines take most of the start-up time of other commands.
  const { migrate } = await import('../app/migration/offline/migrate.js');
  const progress = new PhaseProgress();
  try {
    const done = await migrate(from, to, progress);
    progress.stop();
    tell(done);
  } catch (error) {
    throw new CommandFailure(messageOf(error), { cause: error });
  } finally {
    progress.stop();
  }
}

async function runOnline(flags: MigrateFlags): Promise<void> {
  const { controlPort, cancel = false } = flags;
  if (
    flags.from !== undefined ||
    flags.fromLocation !== undefined ||
    flags.fromSchema !== undefined
  )
    throw new UsageError('--online moves the data of a server: leave --from out.');
  if (controlPort === undefined) {
    throw new UsageError('Say which server has the data: --control-port PORT.');
  }
  if (cancel) return cancelOnline(controlPort);
  const { location = '', ...to } = locationOf('to', flags.to, flags.toLocation, flags.toSchema);
  await migrateOnline(controlPort, { ...to, location: resolve(location) });
}

async function runTakeBack(from: DataLocation, to: DataLocation): Promise<void> {
  const { takeBack } = await import('../app/migration/offline/interrupted-move.js');
  try {
    await takeBack(from, to);
  } catch (error) {
    throw new CommandFailure(messageOf(error), { cause: error });
  }
  process.stdout.write('The source has its data again: servers may use it.\n');
}

function locationOf(
  side: 'from' | 'to',
  text: string | undefined,
  directory: string | undefined,
  schema: string | undefined,
): DataLocation {
  if (text === undefined) {
    throw new UsageError(`--${side} is missing: give a directory or a database.`);
  }
  if (text === '') throw new UsageError(`--${side} is empty: give a directory or a database.`);
  const url = text === databaseWord ? process.env[urlVariable] : text;
  if (url === undefined || url === '') {
    throw new UsageError(`--${side} postgres needs the URL of the database in ${urlVariable}.`);
  }
  if (urlForm.test(url)) {
    return {
      location: directory ?? String(optionTable.location.startDefault),
      postgresUrl: url,
      ...(schema !== undefined && { postgresSchema: schema }),
    };
  }
  const [unfit] = [
    ...(directory === undefined ? [] : [`--${side}-location`]),
    ...(schema === undefined ? [] : [`--${side}-schema`]),
  ];
  if (unfit === undefined) return { location: text };
  throw new UsageError(`${unfit} is for a database, and --${side} ${text} is a directory.`);
}

/** Shows one phase after the other. */
class PhaseProgress implements MigrationListener {
  #report: ProgressReport | undefined;
  #bytes = 0;

  begin(phase: MigrationPhase, bytesTotal: number | undefined): void {
    this.stop();
    this.#bytes = 0;
    const rate = rateOf(() => this.#bytes);
    const share =
      bytesTotal === undefined ? undefined : () => this.#bytes / Math.max(1, bytesTotal);
    const left = share && timeLeft(share);
    this.#report = showProgress({
      stream: process.stderr,
      share,
      facts: () => [
        phase,
        byteText(this.#bytes),
        `${byteText(rate())}/s`,
        ...(left === undefined ? [] : [left()]),
      ],
      quietMs,
    });
  }

  progress(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    this.#report?.stop();
    this.#report = undefined;
  }
}

function tell({ summary, content, entriesBefore }: Migration): void {
  if (entriesBefore > 0) {
    notice(`An earlier attempt had copied ${grouped(entriesBefore)} of the entries.`);
  }
  const entries = summary.entries === 1 ? '1 entry' : `${grouped(summary.entries)} entries`;
  process.stdout.write(
    `Copied: ${entries}, ${byteText(summary.bytes)}; ` +
      `${counted(content.files, 'file')} of content, ${byteText(content.bytes)}.\n` +
      `Compared: source and target have the same entries, SHA-256 ${summary.hash}.\n`,
  );
}
