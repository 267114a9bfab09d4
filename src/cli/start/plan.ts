import type { Logger } from 'pino';
import type { Config, LoadedConfig } from '../config/config-file.js';
import { UsageError } from '../terminal/failure.js';
import type { GivenFlags } from './given-flags.js';
import { OptionValues } from './option-values.js';
import {
  startReloading,
  type Reloaded,
  type Reloading,
  type ReloadingOptions,
} from './reloading.js';
import { startSettings, type SettingsFor, type StartSettings } from './settings.js';
import { warnOfTrustedFiles } from './trusted-files.js';

/** How a server starts and applies changes of its configuration file. */
export interface StartPlan {
  readonly settings: StartSettings;
  /** The configuration file's content; empty without one. */
  readonly config: Config;
  /** Logs a warning about files that other users can access. */
  warnOfFiles(log: Logger): void;
  /** Begins to watch for changes; does nothing without a configuration file and a certificate. */
  reload(log: Logger, apply: (reloaded: Reloaded) => Promise<void>): Reloading;
}

/** Combines a command line with any configuration. Throws `UsageError`. */
export function settingsOf(flags: GivenFlags): SettingsFor {
  return (input) => startSettings(flags, input);
}

/** Reads the configuration file, if one is given. Throws `UsageError`. */
export async function planStart(flags: GivenFlags): Promise<StartPlan> {
  const settingsFor = settingsOf(flags);
  const file = new OptionValues(flags, { config: {} }).ofProcess('config');
  if (file === undefined) return planWithoutFile(settingsFor);
  const load = await configLoader(file);
  const started = await load(() => Promise.resolve());
  if (started.isEmpty) throw new UsageError(emptyText(file));
  const settings = settingsFor(started);
  return {
    settings,
    config: started.config,
    warnOfFiles: (log) => warnOfTrustedFiles(log, started, settings),
    reload: (log, apply) => startReloading({ started, settings, load, settingsFor, apply, log }),
  };
}

/** SIGHUP also reloads a certificate without a configuration file. */
function planWithoutFile(settingsFor: SettingsFor): StartPlan {
  const settings = settingsFor({ config: {} });
  const started: LoadedConfig = { config: {}, isEmpty: false, holdsKeys: false, files: [] };
  const load = (): Promise<LoadedConfig> => Promise.resolve(started);
  const reload: StartPlan['reload'] = (log, apply) =>
    settings.options.tls === undefined
      ? { stop: () => undefined }
      : startReloading({ started, settings, load, settingsFor, apply, log });
  return {
    settings,
    config: started.config,
    warnOfFiles: (log) => warnOfTrustedFiles(log, started, settings),
    reload,
  };
}

/** Refuses an empty file: a truncated one would start a server without its settings. */
function emptyText(file: string): string {
  return `${file} is empty. A file that sets nothing says {}; without --config there are no settings.`;
}

/** The YAML reader and schemas are loaded only when there is a file. */
async function configLoader(file: string): Promise<ReloadingOptions['load']> {
  const { loadConfig } = await import('../config/config-file.js');
  return (reads) => loadConfig(file, process.env, reads);
}
