import assert from 'node:assert/strict';
import { Command } from 'commander';
import { startCommand } from '../../src/cli/start.js';
import { addStartOptions } from '../../src/cli/start/flags.js';
import { GivenFlags } from '../../src/cli/start/given-flags.js';
import { planStart } from '../../src/cli/start/plan.js';
import { startSettings, type ConfigInput } from '../../src/cli/start/settings.js';
import { UsageError } from '../../src/cli/terminal/failure.js';

const quiet = { writeErr: () => undefined, writeOut: () => undefined };

/** What a command line of `start` says, with the environment of this process. */
export function givenFlags(...args: readonly string[]): GivenFlags {
  const command = new Command('start').exitOverride().configureOutput(quiet);
  addStartOptions(command);
  return new GivenFlags(command.parse([...args], { from: 'user' }), process.env);
}

/** The options that a server in memory gets from a command line and a configuration file. */
export function optionsOf(args: readonly string[], said: ConfigInput = { config: {} }) {
  return startSettings(givenFlags('--in-memory', ...args), said).options;
}

/**
 * What `start` says of a command line and its configuration file that it refuses, before it begins
 * anything. In a process of its own it ends with 2 then, as every `UsageError` does.
 */
export async function usageErrorOf(...args: readonly string[]): Promise<string> {
  const command = startCommand().exitOverride().configureOutput(quiet);
  command.action(async () => void (await planStart(new GivenFlags(command, process.env))));
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  return assert.fail(`accepted: ${args.join(' ')}`);
}
