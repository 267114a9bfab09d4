import { own } from '../../base/own.js';
import { isRecord } from '../../base/record.js';
import type {
  CancelResult,
  OperationInfo,
  PartitionInfo,
  PartitionsInfo,
  RestoreResult,
  Started,
  StartedJob,
  StoreInfo,
  VerifyResult,
} from './partitions.js';

// What the results of jobs have to be. A client may ask a server of another release, so it looks.

/** Whether the result of a job has the form that its caller expects. */
export type IsResult<Result> = (value: unknown) => value is Result;

type Kind = 'number' | 'text' | 'flag' | 'numbers' | 'texts' | readonly string[];
type Member = Kind | { readonly maybe: Kind };
/** The kind of each member. Members that are not named here may be there as well. */
type Form<Info> = { readonly [Name in keyof Required<Info>]: Member };

const kinds = ['move', 'split', 'merge', 'backup', 'restore'] as const;

const rangeForm: Form<PartitionInfo> = {
  range: 'number',
  from: 'text',
  to: 'text',
  store: 'text',
  epoch: 'number',
  state: ['serving', ...kinds],
  operation: { maybe: 'number' },
  keys: { maybe: 'number' },
  bytes: { maybe: 'number' },
  readsPerSecond: { maybe: 'number' },
  writesPerSecond: { maybe: 'number' },
  bytesReadPerSecond: { maybe: 'number' },
  bytesWrittenPerSecond: { maybe: 'number' },
  callMs: { maybe: 'number' },
};

const storeForm: Form<StoreInfo> = {
  store: 'text',
  state: ['active', 'draining'],
  location: 'text',
  ranges: 'number',
  isHome: 'flag',
  problem: { maybe: 'text' },
};

const operationForm: Form<OperationInfo> = {
  operation: 'number',
  state: ['running', 'done', 'cancelled', 'failed'],
  kind: { maybe: kinds },
  ranges: { maybe: 'numbers' },
  from: { maybe: 'text' },
  to: { maybe: 'text' },
  step: { maybe: 'text' },
  bytesCopied: { maybe: 'number' },
  bytesTotal: { maybe: 'number' },
  problem: { maybe: 'text' },
};

/** The result of `halve`. */
export function isStarted(value: unknown): value is Started {
  return hasForm<Started>({ operation: 'number', newRanges: { maybe: 'numbers' } }, value);
}

/** The result of `verify`. */
export function isVerifyResult(value: unknown): value is VerifyResult {
  const form: Form<VerifyResult> = {
    findings: 'texts',
    repaired: 'texts',
    notCompared: { maybe: 'texts' },
    begun: { maybe: 'text' },
  };
  return hasForm(form, value);
}

/** The answer to what begins a job. */
export function isStartedJob(value: unknown): value is StartedJob {
  return hasForm<StartedJob>({ job: 'number', operation: { maybe: 'number' } }, value);
}

/** The result of `cancel`. */
export function isCancelResult(value: unknown): value is CancelResult {
  return hasForm<CancelResult>({ cancelled: 'flag' }, value);
}

/** The result of `restore`. */
export function isRestoreResult(value: unknown): value is RestoreResult {
  return hasForm<RestoreResult>({ directory: 'text', leftOut: 'texts' }, value);
}

/** The result of `sizes`. */
export function isPartitionsInfo(value: unknown): value is PartitionsInfo {
  if (!isRecord(value)) return false;
  const { ranges, stores, operations } = value;
  return (
    isListOf(ranges, (each) => hasForm(rangeForm, each)) &&
    isListOf(stores, (each) => hasForm(storeForm, each)) &&
    isListOf(operations, (each) => hasForm(operationForm, each))
  );
}

function hasForm<Info>(form: Form<Info>, value: unknown): value is Info {
  if (!isRecord(value)) return false;
  return Object.entries<Member>(form).every(([name, member]) => isMember(member, own(value, name)));
}

function isMember(member: Member, value: unknown): boolean {
  if (typeof member === 'string' || !('maybe' in member)) return isOf(member, value);
  return value === undefined || isOf(member.maybe, value);
}

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === 'number') return typeof value === 'number';
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'flag') return typeof value === 'boolean';
  if (kind === 'numbers') return isListOf(value, (each) => typeof each === 'number');
  if (kind === 'texts') return isListOf(value, (each) => typeof each === 'string');
  return typeof value === 'string' && kind.includes(value);
}

function isListOf(value: unknown, is: (each: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((each) => is(each));
}
