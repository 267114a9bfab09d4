import type { Command } from 'commander';
import { UsageError } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';

/**
 * The options that a stray word is most likely meant for; the first that the command has is
 * suggested.
 */
const meantOptions = ['--table', '--queue', '--location'];

/** The full name of a command. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** Throws `UsageError` for the first surplus argument of a command. */
export function refuseExcessArguments(command: Command): void {
  const parameters = command.registeredArguments;
  const excess = command.args[parameters.length];
  if (excess === undefined || parameters.at(-1)?.variadic === true) return;
  const path = pathOf(command);
  const word = printable(excess);
  const help = `See: ${path} --help`;
  if (parameters.length > 0) {
    const taken = parameters.map((parameter) => `<${parameter.name()}>`).join(' ');
    throw new UsageError(
      `${path} takes ${taken} and options, and '${word}' is one word more. Put a text with spaces ` +
        `in quotes. ${help}`,
    );
  }
  const meant = meantOption(command);
  const hint = meant === undefined ? '' : ` Did you mean ${meant} ${word}?`;
  throw new UsageError(`${path} takes options only, not '${word}'.${hint} ${help}`);
}

function meantOption(command: Command): string | undefined {
  const free = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) !== 'cli',
  );
  return meantOptions.find((name) => free.some(({ long }) => long === name));
}
