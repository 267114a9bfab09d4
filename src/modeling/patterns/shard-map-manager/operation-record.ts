import type { ClosedAccess } from '../shard-map/map-state.js';
import type { ManagerRow, Texts } from './manager-rows.js';

/** What programs may do with the partitions that move, meanwhile: everything, with `online`. */
export type OperationMode = 'online' | ClosedAccess;

/**
 * `running`: begun, and the latest run, if one has ended, was not stopped by an error. `stopped`:
 * it was; `details` says why, and the next run goes on. `cancelling`: being taken back.
 */
export type OperationStatus = 'running' | 'stopped' | 'cancelling' | 'cancelled' | 'completed';

export type OperationStep =
  'begun' | 'closing' | 'copying' | 'verifying' | 'handing-over' | 'cleaning-up' | 'ended';

/** The steps between which a percentage is counted. */
const countedSteps: readonly OperationStep[] = [
  'closing',
  'copying',
  'verifying',
  'handing-over',
  'cleaning-up',
];

/** A change of a map, as it is stored. */
export interface Operation {
  readonly id: string;
  readonly map: string;
  /** For people. */
  readonly title: string;
  readonly mode: OperationMode;
  readonly status: OperationStatus;
  readonly step: OperationStep;
  /** Partitions of the step that are done, and of the plan. */
  readonly partitions: number;
  readonly of: number;
  /** 0 to 100, each step counted alike. */
  readonly percent: number;
  /** Why it stopped or ended; empty when there is nothing to say. */
  readonly details: string;
  /** The shards that were given up with what they had: see `MapOperations.giveUp`. */
  readonly lost: readonly string[];
  /** Wall clock, ISO 8601. */
  readonly begunAt: string;
  readonly changedAt: string;
}

export type OperationChange = Partial<Omit<Operation, 'id' | 'percent'>>;

export function textsOfOperation(operation: Omit<Operation, 'id' | 'percent'>): Texts {
  return {
    Map: operation.map,
    Title: operation.title,
    Mode: operation.mode,
    Status: operation.status,
    Step: operation.step,
    Partitions: String(operation.partitions),
    Of: String(operation.of),
    Details: operation.details.slice(0, detailsKept),
    ...(operation.lost.length === 0 ? {} : { Lost: JSON.stringify(operation.lost) }),
    BegunAt: operation.begunAt,
    ChangedAt: operation.changedAt,
  };
}

/** Characters of a message that are kept. */
const detailsKept = 4000;

export function operationOf({ name, texts }: ManagerRow): Operation {
  const step = oneOf(steps, texts['Step'], 'begun');
  const status = oneOf(operationStatuses, texts['Status'], 'stopped');
  const partitions = Number(texts['Partitions'] ?? 0);
  const of = Number(texts['Of'] ?? 0);
  return Object.freeze({
    id: name,
    map: texts['Map'] ?? '',
    title: texts['Title'] ?? '',
    mode: oneOf(modes, texts['Mode'], 'online'),
    status,
    step,
    partitions,
    of,
    percent: percentOf(status, step, partitions, of),
    details: texts['Details'] ?? '',
    lost: namesIn(texts['Lost']),
    begunAt: texts['BegunAt'] ?? '',
    changedAt: texts['ChangedAt'] ?? '',
  });
}

function percentOf(status: OperationStatus, step: OperationStep, done: number, of: number): number {
  if (status === 'completed') return 100;
  const at = countedSteps.indexOf(step);
  if (at < 0) return 0;
  const share = of === 0 ? 0 : Math.min(1, done / of);
  return Math.floor((100 * (at + share)) / countedSteps.length);
}

const modes: readonly OperationMode[] = ['online', 'read-only', 'offline'];
const steps: readonly OperationStep[] = ['begun', ...countedSteps, 'ended'];
const operationStatuses: readonly OperationStatus[] = [
  'running',
  'stopped',
  'cancelling',
  'cancelled',
  'completed',
];

function namesIn(text = '[]'): readonly string[] {
  const names: unknown = JSON.parse(text);
  return Array.isArray(names) ? names.filter((each) => typeof each === 'string') : [];
}

function oneOf<T extends string>(known: readonly T[], text: string | undefined, other: T): T {
  return known.find((each) => each === text) ?? other;
}
