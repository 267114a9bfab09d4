import type { Command } from 'commander';
import { UsageError } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';

/** What a word without an option is most often meant for, the first that the command has. */
const meantOptions = ['--table', '--queue', '--location'];

/** The name of a command as people type it. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** Throws `UsageError` for the first argument of a command that it has no place for. */
export function refuseExcessArguments(command: Command): void {
  const places = command.registeredArguments;
  const excess = command.args[places.length];
  if (excess === undefined || places.at(-1)?.variadic === true) return;
  const path = pathOf(command);
  const word = printable(excess);
  const help = `See: ${path} --help`;
  if (places.length > 0) {
    const taken = places.map((place) => `<${place.name()}>`).join(' ');
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
