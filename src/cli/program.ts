import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { checkCommand } from './check.js';
import { groupCommands } from './command-groups.js';
import { devTokenCommand } from './dev-token.js';
import { pathOf, refuseExcessArguments } from './arguments/excess-arguments.js';
import { migrateCommand } from './migrate.js';
import { startCommand } from './start.js';
import { printableLines } from './terminal/terminal.js';

/**
 * The whole program or, given the words of a command line, only the commands that they can refer
 * to. Usage errors are thrown; nothing exits.
 */
export async function buildProgram(words?: readonly string[]): Promise<Command> {
  const program = new Command('tabularium')
    .description('Azure Table, Queue and Blob storage that anyone can run.')
    .version(packageVersion(), '-v, --version', 'print the version')
    .addHelpText(
      'after',
      '\nWithout a command, options are those of start: tabularium --in-memory' +
        '\nSee what a command can do with: tabularium <command> --help',
    );
  program.addCommand(startCommand());
  program.addCommand(checkCommand());
  program.addCommand(migrateCommand());
  program.addCommand(devTokenCommand());
  const groups = await groupCommands((name) => words === undefined || words.includes(name));
  for (const group of groups) program.addCommand(group);
  prepare(program);
  program.hook('preAction', (_, command) => refuseExcessArguments(command));
  return program;
}

function prepare(command: Command): void {
  command
    .exitOverride()
    .allowExcessArguments(true)
    .showHelpAfterError(`See: ${pathOf(command)} --help`)
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({ outputError: (text, write) => write(printableLines(text)) });
  for (const child of command.commands) prepare(child);
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version }: { version?: unknown } = JSON.parse(text);
  return typeof version === 'string' ? version : 'unknown';
}
