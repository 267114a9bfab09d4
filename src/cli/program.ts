import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { blobCopyCommand } from './blob-copy.js';
import { blobDeleteCommand } from './blob-delete.js';
import { blobGetCommand } from './blob-get.js';
import { blobListCommand } from './blob-list.js';
import { blobPutCommand } from './blob-put.js';
import { checkCommand } from './check.js';
import { devTokenCommand } from './dev-token.js';
import { pathOf, refuseExcessArguments } from './arguments/excess-arguments.js';
import { importAzuriteCommand } from './import-azurite.js';
import { queueClearCommand } from './queue-clear.js';
import { queueGetCommand } from './queue-get.js';
import { queueListCommand } from './queue-list.js';
import { queuePeekCommand } from './queue-peek.js';
import { queuePutCommand } from './queue-put.js';
import { accountSasCommand } from './sas/account-sas.js';
import { blobSasCommand } from './sas/blob-sas.js';
import { queueSasCommand } from './sas/queue-sas.js';
import { tableSasCommand } from './sas/table-sas.js';
import { startCommand } from './start.js';
import { tableImportCommand } from './table-import.js';
import { tableInsertCommand } from './table-insert.js';
import { tableQueryCommand } from './table-query.js';
import { printableLines } from './terminal/terminal.js';

const tableCommands = [tableQueryCommand, tableInsertCommand, tableImportCommand];
const queueCommands = [
  queueListCommand,
  queuePutCommand,
  queueGetCommand,
  queuePeekCommand,
  queueClearCommand,
];
const blobCommands = [
  blobListCommand,
  blobPutCommand,
  blobGetCommand,
  blobCopyCommand,
  blobDeleteCommand,
];
const sasCommands = [tableSasCommand, queueSasCommand, blobSasCommand, accountSasCommand];

/** The whole command line. Usage errors are thrown; nothing exits. */
export function buildProgram(): Command {
  const program = new Command('tabularium')
    .description('Azure Table, Queue and Blob storage that anyone can run.')
    .version(packageVersion(), '-v, --version', 'print the version')
    .addHelpText(
      'after',
      '\nWithout a command, options are those of start: tabularium --in-memory' +
        '\nSee what a command can do with: tabularium <command> --help',
    );
  const table = new Command('table')
    .summary('read and write tables, here or in the cloud')
    .description('Read and write the tables of this server, of Azurite or of the cloud service.');
  for (const make of tableCommands) table.addCommand(make());
  const queue = new Command('queue')
    .summary('put and get messages, here or in the cloud')
    .description('Put and get messages of this server, of Azurite or of the cloud service.');
  for (const make of queueCommands) queue.addCommand(make());
  const blob = new Command('blob')
    .summary('put and get blobs, here or in the cloud')
    .description('Put and get blobs of this server, of Azurite or of the cloud service.');
  for (const make of blobCommands) blob.addCommand(make());
  const sas = new Command('sas')
    .summary('make tokens that allow a part of what an account key allows')
    .description(
      'Make shared access signatures: tokens that allow a part of what an account key allows, for ' +
        'a time. Works for this server, Azurite and the cloud.',
    );
  for (const make of sasCommands) sas.addCommand(make());
  const imports = new Command('import')
    .summary('take over the data of another emulator')
    .description('Take over the data of another emulator.');
  imports.addCommand(importAzuriteCommand());
  program.addCommand(startCommand());
  program.addCommand(checkCommand());
  program.addCommand(devTokenCommand());
  program.addCommand(table);
  program.addCommand(queue);
  program.addCommand(blob);
  program.addCommand(sas);
  program.addCommand(imports);
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
