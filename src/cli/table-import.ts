import { Command, Option } from 'commander';
import type { EdmType } from '../model/edm/value.js';
import type { WriteMode } from './client/table-client.js';
import {
  connectionOf,
  tableOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { requireType } from './client/edm-text.js';
import { UsageError } from './terminal/failure.js';
import { detectFormat, inputFormats, type InputFormat } from './import/input-format.js';
import { openInput } from './import/input.js';
import { parseKeyTemplate } from './import/key-template.js';
import { runImport } from './import/run-import.js';
import { repeated, wholeNumber } from './arguments/option-parsers.js';

interface ImportFlags extends ConnectionFlags {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly inputFormat?: InputFormat;
  readonly delimiter?: string;
  readonly types?: string;
  readonly infer?: boolean;
  readonly keepEmpty?: boolean;
  readonly rename?: readonly string[];
  readonly omit?: string;
  readonly nested: 'refuse' | 'json';
  readonly mode: WriteMode;
  readonly create: boolean;
  readonly concurrency: number;
  readonly errors?: string;
  readonly state?: string;
  readonly restart?: boolean;
}

const concurrencyDefault = 8;
const concurrencyMax = 64;
const interruptedExitCode = 130;

export function tableImportCommand(): Command {
  const command = new Command('import')
    .summary('load CSV, JSON or JSONL into a table')
    .description(
      'Load a file, or standard input (-), into a table. Rows of one partition are written in ' +
        'transactions of up to 100. An interrupted import continues when it is run again.',
    )
    .argument('<file>', 'CSV with a header line, JSON (an array of objects) or JSONL; - for stdin')
    .addOption(tableOption());
  addMappingOptions(command);
  addRunOptions(command);
  return withConnectionOptions(command, 'table')
    .addHelpText(
      'after',
      `
Key templates: Country names a column; {Country}-{Id:08} joins columns and text,
padding whole numbers with zeros; 'all' in quotes is a constant.

Examples:
  tabularium table import cities.csv -t cities -p Country -r "{Id:08}" --types Population=int64
  tabularium table import cities.jsonl -t cities -p "{country}" -r "{admin}-{id:08}"
  gunzip -c cities.csv.gz | tabularium table import - -t cities -p Country -r Id --infer`,
    )
    .action(importFile);
}

function addMappingOptions(command: Command): void {
  command
    .option('-p, --partition-key <template>', 'what the PartitionKey is made of', 'PartitionKey')
    .option('-r, --row-key <template>', 'what the RowKey is made of', 'RowKey')
    .addOption(
      new Option(
        '--input-format <format>',
        'the format (default: by extension and content)',
      ).choices(inputFormats),
    )
    .option('--delimiter <character>', 'between the cells of CSV (default: comma, or tab for tsv)')
    .option(
      '--types <list>',
      'types of columns, e.g. Age=int32,Born=datetime; they go before types in the file',
    )
    .option('--infer', 'give CSV cells without a type the type that their text looks like')
    .option('--keep-empty', 'store empty CSV cells as empty strings; without it they are left out')
    .addOption(
      new Option(
        '--rename <from=to>',
        'store a column under another name; may be repeated',
      ).argParser(repeated),
    )
    .option('--omit <names>', 'columns to leave out, separated by commas; keys may still use them')
    .addOption(
      new Option(
        '--nested <how>',
        'JSON objects and arrays inside of a row: refuse it, or store JSON text',
      )
        .choices(['refuse', 'json'])
        .default('refuse'),
    );
}

function addRunOptions(command: Command): void {
  command
    .addOption(
      new Option('--mode <mode>', 'when a row exists: insert refuses, replace and merge overwrite')
        .choices(['insert', 'replace', 'merge'])
        .default('replace'),
    )
    .option('--no-create', 'fail when the table does not exist, instead of creating it')
    .addOption(
      new Option(
        '--concurrency <count>',
        `transactions in flight at a time, 1 to ${concurrencyMax}`,
      )
        .argParser(wholeNumber(1, concurrencyMax))
        .default(concurrencyDefault),
    )
    .option('--errors <file>', 'write each refused row to this file, as JSONL')
    .option('--state <file>', 'where to note progress (default: <file>.tabularium-import.json)')
    .option('--restart', 'start from the beginning, even if an earlier import was interrupted');
}

async function importFile(file: string, flags: ImportFlags): Promise<void> {
  const connection = connectionOf(flags, 'table');
  const mapping = {
    partitionKey: parseKeyTemplate(flags.partitionKey),
    rowKey: parseKeyTemplate(flags.rowKey),
    rename: pairs(flags.rename ?? [], '--rename'),
    omit: new Set(names(flags.omit)),
  };
  const types = parseTypes(flags.types);
  const input = await openInput(file);
  const format = flags.inputFormat ?? detectFormat(file, input.head);
  const delimiter = parseDelimiter(flags.delimiter, format);
  const stopping = abortOnSignals();
  const { refused, isComplete } = await runImport(input, {
    connection,
    table: flags.table,
    mapping,
    format,
    types,
    csv: { delimiter, infer: flags.infer === true, keepEmpty: flags.keepEmpty === true },
    nested: flags.nested,
    mode: flags.mode,
    create: flags.create,
    concurrency: flags.concurrency,
    errorsPath: flags.errors,
    statePath: flags.state ?? `${file}.tabularium-import.json`,
    restart: flags.restart === true,
    signal: stopping,
  });
  if (!isComplete) process.exitCode = interruptedExitCode;
  else if (refused > 0) process.exitCode = 1;
}

/** Aborted by the first SIGINT or SIGTERM; a second one ends the process. */
function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  const received = (): void => {
    if (controller.signal.aborted) process.exit(interruptedExitCode);
    controller.abort();
    // Pending reads of standard input would keep the process alive.
    process.stdin.destroy();
  };
  process.on('SIGINT', received);
  process.on('SIGTERM', received);
  return controller.signal;
}

function names(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function pairs(texts: readonly string[], flag: string): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text) => {
      const equals = text.lastIndexOf('=');
      if (equals > 0 && equals < text.length - 1) {
        return [text.slice(0, equals).trim(), text.slice(equals + 1).trim()];
      }
      throw new UsageError(`${flag} takes name=value, not '${text}'.`);
    }),
  );
}

function parseTypes(list: string | undefined): ReadonlyMap<string, EdmType> {
  const types = pairs(names(list), '--types');
  return new Map(Array.from(types, ([name, type]) => [name, requireType(type)]));
}

function parseDelimiter(text: string | undefined, format: InputFormat): string {
  if (text === undefined) return format === 'tsv' ? '\t' : ',';
  const delimiter = text === '\\t' ? '\t' : text;
  if (delimiter.length === 1) return delimiter;
  throw new UsageError('--delimiter takes one character, or \\t for a tab.');
}
