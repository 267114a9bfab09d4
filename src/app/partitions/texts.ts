import { unreachable } from '../../base/invariant.js';
import { messageOf } from '../../base/thrown.js';
import type { IdleReason, PlannedOperation } from '../../partition/balancer/balancer.js';
import { boundText } from '../../partition/bound-text.js';
import { operationsMax, rangesMax } from '../../partition/limits.js';
import type { DrainProblem } from '../../partition/operations/operation-runner.js';
import type { Refusal } from '../../partition/operations/operations.js';
import { RangeNotEmptyError } from '../../partition/operations/tools.js';
import type { RangeRow } from '../../partition/rows.js';
import type { UnrepairedFinding } from '../../partition/operations/repair.js';
import type { Finding } from '../../partition/findings.js';
import type { ContainerNames } from './container-names.js';

/** Why a range is still in a store that is emptied, or goes elsewhere than it should. */
export function drainText(problem: DrainProblem): string {
  const { range } = problem;
  switch (problem.kind) {
    case 'failed': {
      const why = messageOf(problem.error);
      return `Range ${range} could not be moved and is tried again, after the others: ${why}`;
    }
    case 'refused': {
      const { target: store, refusal } = problem;
      return `Range ${range} does not go to '${store}'. ${refusalText(refusal, { range, store }, store)}`;
    }
    default:
      return unreachable(problem);
  }
}

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
    case 'location mismatch':
      return (
        `The store '${store}' of this server was taken out of the data, and is at another location ` +
        `now. Give this server that location: tabularium partition store add ${store} LOCATION.`
      );
    case 'the store is away':
      return `The store '${store}' does not answer. Choose another one, or wait until it does.`;
    case 'the range is busy':
      return `Another operation works on range ${range}. Wait until it is over, or cancel it.`;
    case 'the range is there already':
      return `Range ${range} is in the store '${store}' already.`;
    case 'not a boundary of partitions':
      return 'This is inside of a partition, and a partition is never cut.';
    case 'outside of the range':
      return (
        `This is not inside of range ${range}: one of its halves would have no partition. Give a place ` +
        'behind its beginning and before its end, as the list of partitions has them; in the last ' +
        'range, one that begins with table or queue.'
      );
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
      return new RangeNotEmptyError(range).message;
    case 'the store has the range':
      return `The store '${store}' has range ${range}: what it has of it is in use.`;
    case 'nobody serves the range':
      return `Nobody serves range ${range}, so nothing of it is deleted.`;
    case 'too many ranges':
      return (
        `There are ${rangesMax} ranges, as many as there may be. Merge neighbours that are quiet: ` +
        'tabularium partition merge.'
      );
    case 'too many operations':
      return (
        `There are ${operationsMax} operations that are not over, as many as there may be at once. ` +
        'Wait until one is over, or cancel it.'
      );
    case 'the store is draining':
      return `The store '${store}' is being emptied: choose another one, or take it back: tabularium partition store add ${store}.`;
    default:
      return unreachable(refusal);
  }
}

/** What a planned operation does. */
export async function plannedText(
  planned: PlannedOperation,
  names: Pick<ContainerNames, 'texts'>,
): Promise<string> {
  switch (planned.kind) {
    case 'split': {
      const [at] = await names.texts([planned.at]);
      return `split range ${planned.range} at ${at ?? ''}`;
    }
    case 'merge':
      return `merge ranges ${planned.left} and ${planned.right}`;
    case 'move':
      return `move range ${planned.range} from ${planned.source} to ${planned.target}`;
    default:
      return unreachable(planned);
  }
}

/** Why nothing is planned, and when something would be. */
export function idleReasonText(reason: IdleReason): string {
  switch (reason.kind) {
    case 'operations under way':
      return `Operations under way: ${reason.running}, as many as there may be. Ask again when one is over.`;
    case 'no other store':
      return 'No other store takes ranges, so none moves.';
    case 'little load':
      return (
        `Stores have ${reason.mean.toFixed(1)} calls a second on the mean: below ${reason.meanMin}, ` +
        'ranges do not move for their load.'
      );
    case 'even load':
      return (
        `The busiest and the idlest store differ by ${percent(reason.difference)} of the mean: ranges ` +
        `move above ${percent(reason.differenceMax)}.`
      );
    case 'no move helps':
      return (
        `The busiest and the idlest store differ by ${percent(reason.difference)} of the mean, and no ` +
        'range may move now, or none would bring them closer: a range that has moved rests for ' +
        `${minutes(reason.undoDelayMs)}.`
      );
    case 'quiet unknown':
      return (
        `Ranges beyond ${reason.rangesMin} are merged where they are quiet, which shows when loads ` +
        `were measured for ${minutes(reason.quietMs)}.`
      );
    default:
      return unreachable(reason);
  }
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function minutes(ms: number): string {
  return `${Math.round(ms / 60_000)} minutes`;
}

/** Why what was found stays as it is. */
export function leftText({ why, finding }: UnrepairedFinding): string {
  if (why === 'no repair') return 'Nothing was changed: no repair is known that is right.';
  if (why === 'served twice') {
    return 'Nothing was changed: it may have writes that were acknowledged.';
  }
  const range = 'range' in finding ? finding.range : 0;
  const store = 'store' in finding ? finding.store : '';
  return `Nothing was changed. ${refusalText(why, { range, store }, store)}`;
}

/** What does not hold of the map and the stores. */
export function findingText(finding: Finding, ranges: readonly RangeRow[]): string {
  switch (finding.kind) {
    case 'abandoned operation':
      return `Nobody carries on operation ${finding.operation}: start a server, or cancel it.`;
    case 'location mismatch':
      return (
        `This server does not have the store '${finding.store}' from the location that the map means, ` +
        `so it was not compared: tabularium partition store add ${finding.store} LOCATION.`
      );
    case 'no guard':
      return `The store '${finding.store}' does not serve range ${finding.range}, which it has.`;
    case 'stray guard': {
      const what = finding.serves ? 'serves' : 'has a left guard of';
      return `The store '${finding.store}' ${what} range ${finding.range}, which is not its own.`;
    }
    case 'stray data': {
      const range = ranges.find(({ id }) => id === finding.range);
      const from = boundText(range?.start ?? new Uint8Array());
      return (
        `The store '${finding.store}' has ${finding.keys} keys of range ${finding.range}, from ` +
        `'${from}', that another store has. Nobody reads them.`
      );
    }
    case 'not compared': {
      const { range, operation } = finding;
      const why = operation === 0 ? 'it has changed' : `operation ${operation} works on it`;
      return `Range ${range} was not compared: ${why}. Verify it again when that is over.`;
    }
    case 'version ahead':
      return (
        `Range ${finding.range} has an entry of version ${finding.version}, and its store ` +
        `'${finding.store}' has given out ${finding.last} at most: its last version was lost.`
      );
    default:
      return unreachable(finding);
  }
}
