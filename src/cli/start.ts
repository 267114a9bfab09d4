import { resolve } from 'node:path';
import { Command } from 'commander';
import { destination, pino, type Logger } from 'pino';
import {
  createServer,
  loggerOfPino,
  ServerOptionsError,
  type ServerOptions,
  type TabulariumServer,
} from '../app/index.js';
import { chooseAccounts, type ChosenAccounts } from './account-settings.js';
import { codeOf, CommandFailure, messageOf, UsageError } from './failure.js';
import { peerFlagNotes } from './peer-flags.js';
import { requestLogger } from './request-log.js';
import { bannerText } from './start-banner.js';
import { addStartOptions, type StartFlags } from './start-options.js';
import { firstStopSignal } from './stop-signals.js';

export function startCommand(): Command {
  const command = new Command('start')
    .summary('run the table service')
    .description('Run the table service until SIGINT or SIGTERM stops it.');
  addStartOptions(command);
  return command
    .addHelpText(
      'after',
      `
Examples:
  tabularium start
  tabularium start --location /var/lib/tabularium --host 0.0.0.0 --account "prod:$(cat key)"
  tabularium start --in-memory --table-port 0 --log-level debug`,
    )
    .action((flags: StartFlags) => start(flags, command));
}

async function start(flags: StartFlags, command: Command): Promise<void> {
  const isGiven = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
  const notes = peerFlagNotes(isGiven);
  const chosen = chooseAccounts(flags.account ?? [], process.env);
  const options = serverOptions(flags, chosen, isGiven);
  const output = destination(
    flags.debug === undefined
      ? { fd: 2, sync: false }
      : { dest: flags.debug, sync: false, append: true, mkdir: true },
  );
  const log = openLog(flags, output);
  for (const note of [...notes, ...chosen.notes]) process.stderr.write(`Note: ${note}\n`);
  const stopSignal = firstStopSignal();
  const server = await listening({
    ...options,
    logger: loggerOfPino(log),
    observers: flags.silent === true ? [] : [requestLogger(log)],
  });
  const storage =
    options.inMemory === true ? 'in memory, gone at the end' : (options.location ?? '');
  process.stdout.write(
    bannerText({
      server,
      accounts: chosen.accounts,
      storage,
      durability: flags.durability,
      isPrivate: process.stdout.isTTY,
    }),
  );
  log.info({ endpoint: server.tableEndpoint, storage, durability: flags.durability }, 'listening');
  log.info({ signal: await stopSignal }, 'stopping: requests in flight are finished');
  await server.close();
  log.info('stopped');
  output.flushSync();
}

function openLog(flags: StartFlags, output: ReturnType<typeof destination>): Logger {
  const level = flags.debug === undefined ? flags.logLevel : 'debug';
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, output);
}

function serverOptions(
  flags: StartFlags,
  { accounts }: ChosenAccounts,
  isGiven: (name: string) => boolean,
): ServerOptions {
  const inMemory =
    flags.inMemory === true || flags.inMemoryPersistence === true || inMemoryByEnvironment();
  if (flags.inMemory === true && isGiven('location')) {
    throw new UsageError('--in-memory and --location exclude each other: give one of them.');
  }
  const { tableKeepAliveTimeout: keepAliveSeconds } = flags;
  return {
    ...(inMemory ? { inMemory } : { location: resolve(flags.location) }),
    host: typeof flags.tableHost === 'string' ? flags.tableHost : flags.host,
    tablePort: flags.tablePort,
    accounts,
    durability: flags.durability,
    checkClockSkew: flags.clockCheck,
    limits: keepAliveSeconds === undefined ? {} : { keepAliveTimeoutMs: keepAliveSeconds * 1000 },
  };
}

/** Only a plain yes may mean that data are not kept. */
function inMemoryByEnvironment(): boolean {
  const text = (process.env['TABULARIUM_IN_MEMORY'] ?? '').toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === '' || text === 'false' || text === '0') return false;
  throw new UsageError(`TABULARIUM_IN_MEMORY is '${text}'; it may be true or false.`);
}

/** Starts the server, or says in words for people why it cannot be started. */
async function listening(options: ServerOptions): Promise<TabulariumServer> {
  try {
    return await createServer(options);
  } catch (error) {
    if (error instanceof ServerOptionsError) throw new UsageError(error.message);
    throw new CommandFailure(startFailure(error, options), { cause: error });
  }
}

function startFailure(error: unknown, { host = '', tablePort = 0 }: ServerOptions): string {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return (
        `Port ${tablePort} of ${host} is in use, perhaps by another server of storage. Stop that ` +
        'one, or choose another port with --table-port (0 picks a free one).'
      );
    case 'EACCES':
      return `Not allowed to listen on port ${tablePort} of ${host}, or to use the data directory: ${messageOf(error)}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine; choose another with --host.`;
    default:
      return messageOf(error);
  }
}
