import { Command } from 'commander';
import { byteText } from '../../base/byte-text.js';
import type {
  OperationInfo,
  PartitionInfo,
  PartitionsInfo,
  StoreInfo,
} from '../../http/control/partitions.js';
import { isPartitionsInfo } from '../../http/control/job-results.js';
import { grouped, jsonLine, printable } from '../terminal/terminal.js';
import { renderGrid, type GridColumn } from '../views/grid.js';
import { withAccess, withPartitions, type AccessFlags, type PartitionAccess } from './access.js';
import { readingGoesOn } from './interrupted.js';
import { jobResult } from './waiting.js';

interface ListFlags extends AccessFlags {
  readonly sizes?: boolean;
  readonly hot?: boolean;
}

export function partitionListCommand(): Command {
  const command = new Command('list')
    .summary('print the ranges, where they are, and what is done to them')
    .description(
      'Print the ranges of partitions in order, the store of each, the stores, and the operations ' +
        'that are not over.',
    )
    .option('--sizes', 'print keys and bytes of each range as well; reads all keys');
  command.option('--hot', 'the busiest ranges first');
  return withAccess(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition list --control-port 10009
  tabularium partition list --config tabularium.yaml --sizes --json`,
    )
    .action(list);
}

async function list(flags: ListFlags): Promise<void> {
  await withPartitions(flags, async (control, access) => {
    const found = flags.sizes === true ? await measured(access) : await control.list();
    const listed = flags.hot === true ? { ...found, ranges: busiestFirst(found.ranges) } : found;
    const text = flags.json === true ? jsonLine(listed) : shown(listed);
    process.stdout.write(`${text}\n`);
  });
}

async function measured(access: PartitionAccess): Promise<PartitionsInfo> {
  const { job } = await access.control.sizes();
  return jobResult(access.control, job, isPartitionsInfo, readingGoesOn(access));
}

function busiestFirst(ranges: readonly PartitionInfo[]): readonly PartitionInfo[] {
  const rate = ({ readsPerSecond = 0, writesPerSecond = 0 }: PartitionInfo) =>
    readsPerSecond + writesPerSecond;
  return ranges.toSorted((one, other) => rate(other) - rate(one));
}

/** Ranges, stores and operations as tables, followed by their problems. */
export function shown({ ranges, stores, operations }: PartitionsInfo): string {
  const parts = [grid(rangeColumns, ranges), grid(storeColumns, stores)];
  if (operations.length > 0) parts.push(grid(operationColumns, operations));
  const problems = [
    ...stores.flatMap(({ problem }) => problem ?? []),
    ...operations.flatMap(({ operation, problem }) =>
      problem === undefined ? [] : `Operation ${operation} does not go on here: ${problem}`,
    ),
  ];
  if (problems.length > 0) parts.push(problems.map(printable).join('\n'));
  return parts.join('\n\n');
}

interface Column<Row> extends GridColumn {
  readonly text: (row: Row) => string | undefined;
}

function left<Row>(name: string, text: Column<Row>['text']): Column<Row> {
  return { name, align: 'left', text };
}

function right<Row>(name: string, text: Column<Row>['text']): Column<Row> {
  return { name, align: 'right', text };
}

const rangeColumns: readonly Column<PartitionInfo>[] = [
  right('range', ({ range }) => String(range)),
  left('from', ({ from }) => from),
  left('to', ({ to }) => to),
  left('store', ({ store }) => store),
  right('epoch', ({ epoch }) => String(epoch)),
  left('state', ({ state }) => state),
  right('keys', ({ keys }) => (keys === undefined ? undefined : grouped(keys))),
  right('bytes', ({ bytes }) => (bytes === undefined ? undefined : byteText(bytes))),
  right('reads/s', ({ readsPerSecond }) => rateText(readsPerSecond)),
  right('writes/s', ({ writesPerSecond }) => rateText(writesPerSecond)),
  right('read/s', ({ bytesReadPerSecond }) => bytesText(bytesReadPerSecond)),
  right('written/s', ({ bytesWrittenPerSecond }) => bytesText(bytesWrittenPerSecond)),
  right('ms/call', ({ callMs }) => rateText(callMs)),
  right('operation', ({ operation }) => (operation === undefined ? undefined : String(operation))),
];

function rateText(rate: number | undefined): string | undefined {
  return rate === undefined ? undefined : rate.toFixed(1);
}

function bytesText(rate: number | undefined): string | undefined {
  return rate === undefined ? undefined : byteText(Math.round(rate));
}

const storeColumns: readonly Column<StoreInfo>[] = [
  left('store', ({ store }) => store),
  left('state', ({ state }) => state),
  right('ranges', ({ ranges }) => String(ranges)),
  left('location', ({ location }) => location),
];

const operationColumns: readonly Column<OperationInfo>[] = [
  right('operation', ({ operation }) => String(operation)),
  left('kind', ({ kind }) => kind),
  left('ranges', ({ ranges = [] }) => ranges.join(', ')),
  left('from', ({ from }) => from),
  left('to', ({ to }) => to),
  left('step', ({ step }) => step),
  right('copied', copiedText),
];

/** How much was copied, and of how much, as far as the process that is asked knows. */
function copiedText({ bytesCopied, bytesTotal }: OperationInfo): string | undefined {
  if (bytesCopied === undefined) return undefined;
  const total = bytesTotal === undefined ? '' : ` of ${byteText(bytesTotal)}`;
  return `${byteText(bytesCopied)}${total}`;
}

/** Columns that are empty in all rows are left out. */
function grid<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const used = columns.filter(({ text }) => rows.some((row) => text(row) !== undefined));
  const cells = rows.map((row) => used.map(({ text }) => text(row) ?? ''));
  const widthMax = process.stdout.isTTY ? process.stdout.columns || 80 : Infinity;
  return renderGrid(used, cells, widthMax).lines.join('\n');
}
