import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { systemTimers } from '../../base/async/timers.js';
import type { Config, LoadedConfig, Reads } from '../config/config-file.js';
import { FileWatch, stateOf, type FileState } from '../config/file-watch.js';
import { messageOf, UsageError } from '../terminal/failure.js';
import { heldConfig } from './held-config.js';
import { warnOfExposure } from './reach.js';
import { warnOfTrustedFiles } from './trusted-files.js';
import { valueAt } from './option-values.js';
import { restartMembers, type SettingsFor, type StartSettings } from './settings.js';

/** Reloads until it is stopped. */
export interface Reloading {
  stop(): void;
}

/** The settings in force after a reload. Those that need a restart are still those of the start. */
export interface Reloaded {
  readonly config: Config;
  readonly settings: StartSettings;
}

export interface ReloadingOptions {
  /** The settings at the start. */
  readonly started: LoadedConfig;
  readonly settings: StartSettings;
  /** Calls back before it reads each file. */
  readonly load: (reads: Reads) => Promise<LoadedConfig>;
  readonly settingsFor: SettingsFor;
  /** Applies the settings, or throws and changes nothing. */
  readonly apply: (reloaded: Reloaded) => Promise<void>;
  readonly log: Logger;
}

/** How often the files are checked. */
const watchEveryMs = 500;

type Reason = 'file' | 'SIGHUP';

/**
 * Reloads the configuration at SIGHUP, and when its file or a file that it refers to has changed.
 * An invalid configuration changes nothing and is logged.
 */
export function startReloading(options: ReloadingOptions): Reloading {
  const { log, started } = options;
  let current = started.config;
  let held: Reloaded = { config: current, settings: options.settings };
  let last: Promise<void> = Promise.resolve();
  // Includes files of a refused configuration: one of them may be the reason.
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
    // A change with a signal is handled once.
    if (reason === 'file' && (await areAsRead(read))) return;
    try {
      const loaded = await load();
      const { config } = loaded;
      if (reason === 'file' && isDeepStrictEqual(config, current)) return;
      if (loaded.isEmpty) throw new UsageError(emptiedText);
      const { next, waiting } = nextOf(held, loaded, options.settingsFor);
      await options.apply(next);
      current = config;
      held = next;
      const { settings } = next;
      const accounts = settings.accounts.map(({ name }) => name);
      log.info({ reason, accounts }, 'configuration reloaded');
      warnOfExposure(log, settings);
      warnOfTrustedFiles(log, loaded, settings);
      if (waiting.length > 0) {
        log.warn(
          { members: waiting },
          'changes of these settings need a restart, the old ones still hold',
        );
      }
    } catch (error) {
      log.error(
        { reason, error: messageOf(error) },
        'configuration not reloaded, the old one holds',
      );
    }
  };

  // Reloads run one at a time, so the last one has the newest files.
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

/** True when files have not changed since they were read. */
async function areAsRead(read: readonly FileState[]): Promise<boolean> {
  const now = await Promise.all(read.map(({ file }) => stateOf(file)));
  return read.length > 0 && isDeepStrictEqual(now, read);
}

const emptiedText =
  'The file is empty. To take back settings, write those that shall hold; {} sets nothing.';

/** Removing `accounts` must not fall back to the account with the public key. */
const accountsGoneText =
  'The file names no account any more, and a server whose accounts were named does not go back to ' +
  'the development account: its key is public. Name an account, or stop the server.';

interface Next {
  readonly next: Reloaded;
  /** The members whose changes need a restart. */
  readonly waiting: readonly string[];
}

/**
 * The settings that a loaded file changes now. Throws `UsageError` for one that no start would
 * accept.
 */
function nextOf(held: Reloaded, loaded: LoadedConfig, settingsFor: SettingsFor): Next {
  const wanted = settingsFor(loaded);
  if (held.settings.areAccountsNamed && !wanted.areAccountsNamed) {
    throw new UsageError(accountsGoneText);
  }
  const isSecured = ({ options }: StartSettings): boolean => options.tls !== undefined;
  const isTransportOther = isSecured(wanted) !== isSecured(held.settings);
  const members = isTransportOther ? [...restartMembers, 'tls'] : restartMembers;
  const config = heldConfig(held.config, loaded.config, members);
  const waiting = members.filter((member) => {
    const path = member.split('.');
    return !isDeepStrictEqual(valueAt(config, path), valueAt(loaded.config, path));
  });
  return { next: { config, settings: settingsFor({ config }) }, waiting };
}
