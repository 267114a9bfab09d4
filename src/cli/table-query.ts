import { Command, Option } from 'commander';
import { systemClock } from '../base/clock.js';
import { TableClient } from './client/table-client.js';
import {
  connectionOf,
  tableOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { entityView } from './views/entity-view.js';
import { UsageError } from './terminal/failure.js';
import { wholeNumber } from './arguments/option-parsers.js';
import { estimatePlan, planLines, type PlanFacts } from './client/query-plan.js';
import { queryPages } from './client/query-pages.js';
import { endWithOutput } from './terminal/closed-output.js';
import { formatOption, outputDrained, outputPrinter, type RowFormat } from './views/row-output.js';
import { notice } from './terminal/notice.js';

interface QueryFlags extends ConnectionFlags {
  readonly table: string;
  readonly filter?: string;
  readonly select?: string;
  readonly top?: number;
  readonly all?: boolean;
  readonly format: RowFormat;
  readonly plan: boolean;
}

const topDefault = 100;
const topMax = 1_000_000_000;

export function tableQueryCommand(): Command {
  const command = new Command('query')
    .summary('print the rows of a table and what finding them cost')
    .description(
      'Print the rows of a table that match a filter, in key order, and explain on standard error ' +
        'how the service found them: plan class, key intervals, rows scanned, requests, time.',
    )
    .addOption(tableOption())
    .option('-f, --filter <text>', 'an OData filter, e.g. "PartitionKey eq \'a\' and Age gt 5"')
    .option('-s, --select <names>', 'the columns to return, separated by commas')
    .addOption(
      new Option('-n, --top <rows>', `how many rows to print, at most (default: ${topDefault})`)
        .argParser(wholeNumber(0, topMax))
        .conflicts('all'),
    )
    .option('--all', 'print all rows, however many pages they take')
    .addOption(formatOption())
    .option('--no-plan', 'do not explain what the query cost');
  return withConnectionOptions(command, 'table')
    .addHelpText(
      'after',
      `
Examples:
  tabularium table query -t cities -f "PartitionKey eq 'FR'" -n 20
  tabularium table query -t cities -f "PartitionKey eq 'FR' and RowKey ge 'Pa'" -s Name,Population
  tabularium table query -t cities --all --format jsonl > cities.jsonl`,
    )
    .action(query);
}

async function query(flags: QueryFlags): Promise<void> {
  endWithOutput();
  if (flags.select?.trim() === '') throw new UsageError('--select names no column.');
  const client = new TableClient(connectionOf(flags, 'table'));
  const startMs = systemClock.monotonicMs();
  const print = outputPrinter(flags.format, entityView);
  const limit = flags.all === true ? undefined : (flags.top ?? topDefault);
  let facts: PlanFacts | undefined;
  let rowsReturned = 0;
  let requests = 0;
  let hasMore = false;
  try {
    const { table, filter, select } = flags;
    for await (const page of queryPages(client, { table, filter, select, limit })) {
      facts = addedFacts(facts, page.plan);
      rowsReturned += page.rows.length;
      requests++;
      hasMore = page.hasMore;
      print.page(page.rows);
      await outputDrained();
    }
    print.end();
  } finally {
    client.close();
  }
  if (hasMore && flags.top === undefined) {
    notice(`There are more rows: see them with --all or --top.`);
  }
  if (!flags.plan) return;
  const elapsedMs = systemClock.monotonicMs() - startMs;
  const known = facts ?? estimatePlan(flags.filter);
  for (const line of planLines(known, { rowsReturned, requests, elapsedMs })) {
    notice(line);
  }
}

/** The plan is that of the first page; the rows scanned are those of all pages. */
function addedFacts(
  sum: PlanFacts | undefined,
  page: PlanFacts | undefined,
): PlanFacts | undefined {
  if (sum === undefined || page === undefined) return sum ?? page;
  return { ...sum, rowsScanned: (sum.rowsScanned ?? 0) + (page.rowsScanned ?? 0) };
}
