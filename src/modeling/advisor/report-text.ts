import type { Estimate } from './plans/estimate.js';
import type { Finding } from './findings/finding.js';
import { byteText } from '../../base/byte-text.js';
import { amount, counted, percent, short } from './findings/number-text.js';
import type { OperationReport, PlaceReport, Report } from './report.js';

const widthMax = 100;

/** The report as text, at most 100 columns wide, without a line break at its end. */
export function reportText(report: Report): string {
  const { subject, rows, operations, capacity, findings } = report;
  return [
    `${subject}: ${counted(rows, 'row')}`,
    section('Findings', findings.length === 0 ? ['none'] : findings.flatMap(findingLines)),
    section('Operations', operations.length === 0 ? ['none'] : operationLines(report)),
    section('Load at the busiest time', loadLines(report)),
    section('Capacity', [
      ...table([placeHeader, ...capacity.places.map((place) => placeCells(place))], 'lrrrrr'),
      `${byteText(capacity.bytes)} in all, counted as:`,
      ...wrapped(capacity.formula),
      ...wrapped(`(${capacity.source})`),
    ]),
    section('Cost of a month', costLines(report)),
  ].join('\n\n');
}

/** The report as indented JSON. The meaning of its fields does not change within a version. */
export function reportJson(report: Report): string {
  return JSON.stringify(report, undefined, 2);
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');
}

function findingLines(
  { severity, code, subject, problem, advice, pattern }: Finding,
  index: number,
): readonly string[] {
  return [
    ...(index === 0 ? [] : ['']),
    `${severity.toUpperCase().padEnd(8)}${code}: ${subject}`,
    ...wrapped(problem, 8),
    ...wrapped(advice, 8),
    `        See ${pattern}`,
  ];
}

function operationLines({ operations, cost }: Report): readonly string[] {
  const header = ['', 'plan', '/s', 'requests', 'later', 'read', 'written', cost.currency];
  const rows = operations.map((operation) => operationCells(operation));
  return [
    ...table([header, ...rows], 'llrrrrrr'),
    'Of one operation: requests of the caller, requests of a worker later, entities read and written;',
    `as expected (at best-at worst). ${cost.currency} a month.`,
  ];
}

function operationCells(operation: OperationReport): readonly string[] {
  const { name, planClass, perSecond, requests, requestsLater, costPerMonth } = operation;
  return [
    name,
    planClass ?? '-',
    amount(perSecond),
    range(requests),
    range(requestsLater),
    range(operation.entitiesRead),
    range(operation.entitiesWritten),
    money(costPerMonth),
  ];
}

/** `3`, or `3 (1-20)` for a range. */
function range({ best, expected, worst }: Estimate): string {
  if (best === 0 && expected === 0 && worst === 0) return '-';
  const [low, middle, high] = [best, expected, worst].map(short);
  return low === middle && middle === high ? `${middle}` : `${middle} (${low}-${high})`;
}

function loadLines({ load }: Report): readonly string[] {
  const { requestsPerSecond, requestsPerSecondTarget, partitionTarget, places } = load;
  const header = ['', 'partitions', 'entities/s', 'busiest', 'of the traffic', 'over target'];
  const rows = places.map((place) => [
    place.name,
    amount(place.partitions),
    amount(place.entitiesPerSecond),
    `${amount(place.busiestPerSecond)}/s`,
    percent(place.busiestShare),
    amount(place.partitionsOverTarget),
  ]);
  return [
    ...table([header, ...rows], 'lrrrrr'),
    `A partition is good for ${amount(partitionTarget)} entities/s.`,
    `The account gets ${amount(requestsPerSecond)} of ${amount(requestsPerSecondTarget)} requests/s.`,
  ];
}

const placeHeader = ['', 'rows', 'bytes each', 'at most', 'of it overhead', 'in all'];

function placeCells({ name, rows, rowBytes, overheadBytes, bytes }: PlaceReport): string[] {
  const share = rowBytes.average === 0 ? 0 : overheadBytes / rowBytes.average;
  const each = [rowBytes.average, rowBytes.maximum].map(amount);
  return [name, amount(rows), ...each, percent(share), byteText(bytes)];
}

function costLines({ cost }: Report): readonly string[] {
  const { currency, prices, region, asOf, capacity, requests, total } = cost;
  return [
    ...table(
      [
        ['capacity', money(capacity), currency],
        ['requests', money(requests), currency],
        ['total', money(total), currency],
      ],
      'lrl',
    ),
    ...wrapped(`Prices of ${asOf}, ${region}: ${prices}.`),
  ];
}

/** With two decimals. */
function money(value: number): string {
  if (value === 0) return '0';
  return value >= 0.01
    ? value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
    : '< 0.01';
}

/** Aligned columns; `l` and `r` are the sides to which their texts are aligned. */
function table(rows: readonly (readonly string[])[], sides: string): readonly string[] {
  const widths = sides
    .split('')
    .map((_, column) =>
      rows.reduce((width, cells) => Math.max(width, (cells[column] ?? '').length), 0),
    );
  return rows.map((cells) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return sides[column] === 'r' ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Wraps a text into indented lines. */
function wrapped(text: string, indent = 0): readonly string[] {
  const width = widthMax - 2 - indent;
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  if (line !== '') lines.push(line);
  return lines.map((each) => ' '.repeat(indent) + each);
}
