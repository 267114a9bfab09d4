import { compareBytes, type Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { boundText } from '../../partition/bound-text.js';
import type { Refusal } from '../../partition/operations/operations.js';
import type { RangeRow } from '../../partition/rows.js';
import type { Finding } from '../../partition/verify.js';

/** Why an operation does not begin, and what to do. */
export function refusalText(
  refusal: Refusal,
  { range, store = '' }: { readonly range: number; readonly store?: string },
  stores: string,
): string {
  switch (refusal) {
    case 'no such range':
      return `There is no range ${range}: it may have been split or merged. See the list of partitions.`;
    case 'no such store':
      return `There is no store '${store}'; there is: ${stores}.`;
    case 'the range is busy':
      return `Another operation works on range ${range}. Wait until it is over, or cancel it.`;
    case 'the range is there already':
      return `Range ${range} is in the store '${store}' already.`;
    case 'not a boundary of partitions':
      return 'This is inside of a partition, and a partition is never cut.';
    case 'outside of the range':
      return `This is not inside of range ${range}: the first half would have nothing, or not it.`;
    case 'not neighbours':
      return 'The second range has to begin where the first one ends. See the list of partitions.';
    case 'on different stores':
      return 'The ranges are in different stores. Move one of them first.';
    case 'stays in the home store':
      return (
        'Blobs stay in the home store, and their ranges apart from those of queues and tables. ' +
        'Split, move or back up the ranges of queues and tables.'
      );
    case 'the range has entries':
      return `Range ${range} has entries: a backup is restored into an empty range.`;
    case 'the store is draining':
      return `The store '${store}' is being emptied: choose another one, or take it back: tabularium partition store add ${store}.`;
    default:
      return unreachable(refusal);
  }
}

/** What does not hold of the map and the stores. */
export function findingText(finding: Finding, ranges: readonly RangeRow[]): string {
  switch (finding.kind) {
    case 'abandoned operation':
      return `Nobody carries on operation ${finding.operation}: start a server, or cancel it.`;
    case 'no guard':
      return `The store '${finding.store}' does not serve range ${finding.range}, which it has.`;
    case 'stray guard': {
      const what = finding.serves ? 'serves' : 'has a left guard of';
      return `The store '${finding.store}' ${what} range ${finding.range}, which is not its own.`;
    }
    case 'stray data': {
      const isBehind = (end?: Bytes) => end === undefined || compareBytes(finding.first, end) < 0;
      const range = ranges.find(({ end }) => isBehind(end));
      const from = boundText(range?.start ?? new Uint8Array());
      return (
        `The store '${finding.store}' has ${finding.keys} keys of the range from '${from}' that ` +
        'another store has. Nobody reads them.'
      );
    }
    default:
      return unreachable(finding);
  }
}
