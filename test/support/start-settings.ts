import { Command } from 'commander';
import { addStartOptions } from '../../src/cli/start/flags.js';
import { GivenFlags } from '../../src/cli/start/given-flags.js';
import { startSettings, type SaidConfig } from '../../src/cli/start/settings.js';

/** What a command line of `start` says, with the environment of this process. */
export function givenFlags(...args: readonly string[]): GivenFlags {
  const quiet = { writeErr: () => undefined, writeOut: () => undefined };
  const command = new Command('start').exitOverride().configureOutput(quiet);
  addStartOptions(command);
  return new GivenFlags(command.parse([...args], { from: 'user' }), process.env);
}

/** The options that a server in memory gets from a command line and a configuration file. */
export function optionsOf(args: readonly string[], said: SaidConfig = { config: {} }) {
  return startSettings(givenFlags('--in-memory', ...args), said).options;
}
