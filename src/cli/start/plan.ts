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

/** How a server starts, and how it takes over changes of its configuration file. */
export interface StartPlan {
  readonly settings: StartSettings;
  /** What the configuration file says; nothing without one. */
  readonly config: Config;
  /** Says in the log which of its files every user of the machine may use. */
  warnOfFiles(log: Logger): void;
  /** Begins to reload; does nothing without a configuration file and a certificate. */
  reload(log: Logger, apply: (reloaded: Reloaded) => Promise<void>): Reloading;
}

/** The settings of a command line with any configuration. Throws `UsageError`. */
export function settingsOf(flags: GivenFlags): SettingsFor {
  return (said) => startSettings(flags, said);
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

/** A certificate is loaded again at SIGHUP without a configuration as well. */
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

/** A file that was truncated would otherwise start a server with none of its settings. */
function emptyText(file: string): string {
  return `${file} is empty. A file that sets nothing says {}; without --config there are no settings.`;
}

/** Readers of YAML and schemas are only loaded by those who have a file. */
async function configLoader(file: string): Promise<ReloadingOptions['load']> {
  const { loadConfig } = await import('../config/config-file.js');
  return (reads) => loadConfig(file, process.env, reads);
}
