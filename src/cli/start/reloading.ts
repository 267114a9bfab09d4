import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { systemTimers } from '../../base/async/timers.js';
import type { Config, LoadedConfig, Reads } from '../config/config-file.js';
import { FileWatch, stateOf, type FileState } from '../config/file-watch.js';
import { messageOf, UsageError } from '../terminal/failure.js';
import { warnOfExposure } from './reach.js';
import { warnOfTrustedFiles } from './trusted-files.js';
import { changeableMembers, type SettingsFor, type StartSettings } from './settings.js';

/** Reloads until it is stopped. */
export interface Reloading {
  stop(): void;
}

/** What a reload makes the server run with. */
export interface Reloaded {
  readonly config: Config;
  readonly settings: StartSettings;
}

export interface ReloadingOptions {
  /** What the server started with. */
  readonly started: LoadedConfig;
  readonly settings: StartSettings;
  /** Tells of each file before it reads it. */
  readonly load: (reads: Reads) => Promise<LoadedConfig>;
  readonly settingsFor: SettingsFor;
  /** Makes the server run with it, or changes nothing and throws. */
  readonly apply: (reloaded: Reloaded) => Promise<void>;
  readonly log: Logger;
}

/** How often the files are looked at. */
const watchEveryMs = 500;

type Reason = 'file' | 'SIGHUP';

/**
 * Reloads the configuration at SIGHUP, and when its file or one that it refers to has changed. What
 * cannot be read or served changes nothing: the log says why.
 */
export function startReloading(options: ReloadingOptions): Reloading {
  const { log, started } = options;
  let current = started.config;
  let { areAccountsNamed } = options.settings;
  let last: Promise<void> = Promise.resolve();
  // Of a configuration that is refused as well: one of its files may be what is missing.
  let read: readonly FileState[] = [];

  const load = async (): Promise<LoadedConfig> => {
    const files: FileState[] = [];
    try {
      return await options.load(async (file) => void files.push(await stateOf(file)));
    } finally {
      read = files;
      watch.watch(files);
    }
  };
  const reload = async (reason: Reason): Promise<void> => {
    // One save can bring a signal as well, and is answered once.
    if (reason === 'file' && (await areAsRead(read))) return;
    try {
      const loaded = await load();
      const { config } = loaded;
      if (reason === 'file' && isDeepStrictEqual(config, current)) return;
      if (loaded.isEmpty) throw new UsageError(emptiedText);
      const settings = options.settingsFor(loaded);
      if (areAccountsNamed && !settings.areAccountsNamed) throw new UsageError(accountsGoneText);
      await options.apply({ config, settings });
      current = config;
      ({ areAccountsNamed } = settings);
      const accounts = settings.accounts.map(({ name }) => name);
      log.info({ reason, accounts }, 'configuration reloaded');
      warnOfExposure(log, settings);
      warnOfTrustedFiles(log, loaded, settings);
      const members = restartMembers(started.config, config);
      if (members.length > 0) {
        log.warn({ members }, 'changes of these settings need a restart, the old ones still hold');
      }
    } catch (error) {
      log.error(
        { reason, error: messageOf(error) },
        'configuration not reloaded, the old one holds',
      );
    }
  };

  // One at a time: the last one to begin has read the files last.
  const request = (reason: Reason): void => void (last = last.then(() => reload(reason)));
  const hangup = (): void => request('SIGHUP');
  const watch = new FileWatch(started.files, {
    everyMs: watchEveryMs,
    timers: systemTimers,
    changed: () => request('file'),
  });
  process.on('SIGHUP', hangup);
  return {
    stop() {
      watch.stop();
      process.off('SIGHUP', hangup);
    },
  };
}

/** Whether files are as they were when they were read. */
async function areAsRead(read: readonly FileState[]): Promise<boolean> {
  const now = await Promise.all(read.map(({ file }) => stateOf(file)));
  return read.length > 0 && isDeepStrictEqual(now, read);
}

const emptiedText =
  'The file is empty. To take back settings, write those that shall hold; {} sets nothing.';

/** Taking accounts back must not let in everybody who knows the public key. */
const accountsGoneText =
  'The file names no account any more, and a server whose accounts were named does not go back to ' +
  'the development account: its key is public. Name an account, or stop the server.';

/** Members that say something else than when the server started, which it cannot take over. */
function restartMembers(started: Config, config: Config): string[] {
  const before = new Map(Object.entries(started));
  const after = new Map(Object.entries(config));
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => !changeableMembers.has(name))
    .filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)));
}
