import { basename, extname } from 'node:path';
import type { Command } from 'commander';
import { nearestName } from '../../base/nearest-name.js';
import { UsageError } from '../terminal/failure.js';

/** Names of Azurite's program in scripts; here they start the server. */
const azuriteNames: ReadonlySet<string> = new Set([
  'azurite',
  'azurite-blob',
  'azurite-table',
  'azurite-queue',
]);

/** Options of the program itself; other options without a command belong to `start`. */
const ownOptions: ReadonlySet<string> = new Set(['-h', '--help', '-v', '--version']);

/**
 * The words after the program's name, with `start` inserted where a script for Azurite has no
 * command. Throws `UsageError` for an unknown command, even with `--help`, which would print the
 * help of another command.
 */
export function commandWords(program: Command, argv: readonly string[]): readonly string[] {
  const words = withStart(program, argv);
  const [first, ...others] = words;
  const named = first === 'help' ? others : words;
  checkNames(program, named);
  return first === 'help' ? [...named, '--help'] : words;
}

function withStart(program: Command, argv: readonly string[]): readonly string[] {
  const [, invoked = '', ...words] = argv;
  const [first] = words;
  if (first !== undefined && azuriteNames.has(first)) return ['start', ...words.slice(1)];
  const isCommand = first === 'help' || childNamed(program, first) !== undefined;
  if (azuriteNames.has(basename(invoked, extname(invoked)))) {
    return isCommand ? words : ['start', ...words];
  }
  return first?.startsWith('-') === true && !ownOptions.has(first) ? ['start', ...words] : words;
}

function checkNames(program: Command, words: readonly string[]): void {
  let group = program;
  let path = program.name();
  for (const word of words) {
    if (group.commands.length === 0 || word.startsWith('-')) return;
    const child = childNamed(group, word);
    if (child === undefined) throw unknownCommand(group, path, word);
    group = child;
    path = `${path} ${word}`;
  }
}

function childNamed(group: Command, name: string | undefined): Command | undefined {
  return group.commands.find((command) => command.name() === name);
}

function unknownCommand(group: Command, path: string, word: string): UsageError {
  const names = group.commands.map((command) => command.name());
  const nearest = nearestName(word, names);
  const hint = nearest === undefined ? '' : ` Did you mean '${path} ${nearest}'?`;
  return new UsageError(
    `There is no command '${path} ${word}'.${hint}\n` +
      `${path} has ${names.join(', ')}. See: ${path} --help`,
  );
}
