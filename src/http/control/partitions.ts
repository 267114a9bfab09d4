import { isAbsolute } from 'node:path';
import { locationMembers, locationTextsOf, wrong } from './location-members.js';
import { ControlError, type ControlReply } from './reply.js';
import { membersOf, ok, segmentAt, type ControlRequest, type ControlRoute } from './route.js';

/** A range of partitions, as people see it. */
export interface PartitionInfo {
  readonly range: number;
  /** The first partition; empty: from the beginning on. */
  readonly from: string;
  /** The first partition behind it; empty: to the end. */
  readonly to: string;
  readonly store: string;
  readonly epoch: number;
  /** `serving`, or what an operation does with it meanwhile. */
  readonly state: 'serving' | 'move' | 'split' | 'merge' | 'backup' | 'restore';
  /** The operation that works on it. */
  readonly operation?: number;
  /** Only when sizes were asked for, and the range was there while they were measured. */
  readonly keys?: number;
  /** Bytes of keys and values. */
  readonly bytes?: number;
  /** Recent calls a second, of all servers. */
  readonly readsPerSecond?: number;
  readonly writesPerSecond?: number;
  /** Bytes of keys and values that those calls have read and written. */
  readonly bytesReadPerSecond?: number;
  readonly bytesWrittenPerSecond?: number;
  /** How long a call took at its store, on the mean, in milliseconds. */
  readonly callMs?: number;
}

export interface StoreInfo {
  readonly store: string;
  readonly state: 'active' | 'draining';
  readonly location: string;
  readonly ranges: number;
  readonly isHome: boolean;
  /** Why a range does not leave the store while it is emptied, as far as this process knows. */
  readonly problem?: string;
}

export interface OperationInfo {
  readonly operation: number;
  readonly state: 'running' | 'done' | 'cancelled' | 'failed';
  readonly kind?: 'move' | 'split' | 'merge' | 'backup' | 'restore';
  readonly ranges?: readonly number[];
  readonly from?: string;
  readonly to?: string;
  /** Set while a move runs. */
  readonly step?: string;
  readonly bytesCopied?: number;
  readonly bytesTotal?: number;
  /** Why it failed, or could not go on for now. */
  readonly problem?: string;
}

export interface PartitionsInfo {
  readonly ranges: readonly PartitionInfo[];
  readonly stores: readonly StoreInfo[];
  readonly operations: readonly OperationInfo[];
}

/** What the balancer would do, as people read it, and the operations that it has begun. */
export interface BalanceInfo {
  readonly operations: readonly string[];
  /** Ranges with too much load or data that no operation helps. */
  readonly findings: readonly string[];
  /** Why there is no operation, once loads are measured. */
  readonly notes: readonly string[];
  /** The operations that have begun; none in a dry run. */
  readonly begun: readonly number[];
  /** The stores that do not answer: the plan leaves their ranges, and moves none there. */
  readonly away: readonly string[];
  /** For how long loads were measured. Operations for their sake are planned from `neededMs` on. */
  readonly measuredMs: number;
  readonly neededMs: number;
  /** Ranges whose size is not known yet. One is measured at a time, also between plans. */
  readonly unsized: number;
}

/** Where a new store is: a directory, the URL of a database, or in memory. */
export interface NewStore {
  readonly location?: string;
  readonly postgresUrl?: string;
  readonly postgresSchema?: string;
  readonly inMemory?: boolean;
}

export interface RemoveChoice {
  /**
   * The location of the store will never answer again: it is not asked, and its name is not used
   * again. Default: it has to answer.
   */
  readonly lost?: boolean;
}

/** An operation that has begun. */
export interface Started {
  readonly operation: number;
  /** The numbers of the ranges that it makes, if it makes any. */
  readonly newRanges?: readonly number[];
}

/** Work that takes long and is no operation on ranges. */
export interface JobInfo {
  readonly job: number;
  /** `refused`: nothing was changed, and `problem` says what to do. */
  readonly state: 'running' | 'done' | 'failed' | 'refused';
  /** How much was done, in `unit`. */
  readonly done: number;
  readonly total?: number;
  readonly unit: string;
  readonly problem?: string;
  /** The result of a finished job. */
  readonly result?: unknown;
}

export interface VerifyChoice {
  /** Only this range. Default: all, and what tables and queues refer to. */
  readonly range?: number;
  /** Deletes what nobody reads. Default: changes nothing. */
  readonly repair?: boolean;
  /** Keys to read in a second, at most; above 0. Default: 100,000. */
  readonly keysPerSecond?: number;
  /**
   * Compares all again. Default: goes on where the last one of all ranges was when its process
   * died, unless that began more than a day ago.
   */
  readonly anew?: boolean;
}

/** Findings, as people read them. */
export interface VerifyResult {
  /** Findings that were not repaired. */
  readonly findings: readonly string[];
  /** Findings that were repaired. */
  readonly repaired: readonly string[];
  /** Ranges that were not compared, because operations worked on them; absent: none. */
  readonly notCompared?: readonly string[];
  /** When the verification began with which this one went on, as an ISO 8601 time. */
  readonly begun?: string;
}

export interface RestoreChoice {
  /** The table or queue that gets the entries. Default: the one that they were of. */
  readonly as?: string;
  /**
   * The table or queue of the backup whose entries are restored, such as table/account/#7; together
   * with `as`. Default: all, which have to be of one then.
   */
  readonly of?: string;
}

export interface RestoreResult {
  readonly directory: string;
  /**
   * Tables and queues of the backup whose entries were not restored, because they do not exist any
   * more: their places, such as table/account/#7.
   */
  readonly leftOut: readonly string[];
}

export interface CancelResult {
  /** False: it has gone too far, or is over. */
  readonly cancelled: boolean;
}

export interface StartedJob {
  readonly job: number;
  /** The operation that the job works on, if there is one from the beginning. */
  readonly operation?: number;
}

/** What was asked is refused, and nothing was changed. The message says what to do. */
export class PartitionRefusal extends Error {
  override readonly name = 'PartitionRefusal';
}

/**
 * What people can ask of the ranges of a key space over several stores. Methods throw
 * `PartitionRefusal`.
 */
export interface PartitionControl {
  list(): Promise<PartitionsInfo>;
  /**
   * Measures all ranges, which reads all keys where the engine has no better way. The result of the
   * job is that of `list`, with sizes.
   */
  sizes(): Promise<StartedJob>;
  /** `at`: the first partition of the second half. */
  split(range: number, at: string): Promise<Started>;
  /**
   * As `split`, where both halves have about the same size, which reads all keys of the range. The
   * result of the job is that of `split`; the job is refused where `split` would be.
   */
  halve(range: number): Promise<StartedJob>;
  merge(left: number, right: number): Promise<Started>;
  /** `pauseMaxMs`: writes wait so long for the end, about. */
  move(range: number, to: string, pauseMaxMs?: number): Promise<Started>;
  /**
   * Undoes an operation, which deletes all that it has copied. The result of the job is a
   * `CancelResult`.
   */
  cancel(operation: number): Promise<StartedJob>;
  /** Undefined: nobody remembers such an operation. */
  operation(operation: number): Promise<OperationInfo | undefined>;
  balance(dryRun: boolean): Promise<BalanceInfo>;
  /**
   * Takes a store in, or takes it back that was to be emptied. `store` may be empty when the
   * process has it open.
   */
  addStore(name: string, store: NewStore): Promise<void>;
  /** From now on the ranges of a store are moved to others, one after the other. */
  drainStore(name: string): Promise<void>;
  /** Takes an empty store out. */
  removeStore(name: string, choice?: RemoveChoice): Promise<void>;
  verify(choice?: VerifyChoice): Promise<StartedJob>;
  /** `directory`: absolute; made when it does not exist, and else empty. */
  backUp(range: number, directory: string): Promise<StartedJob>;
  /**
   * `range`: an empty one, in which all partitions of the backup are. `as`: the table or queue,
   * such as table/account/table, that gets the entries instead of the one that they were of.
   * Without, what is of tables and queues that do not exist any more is left out, which is refused
   * when nothing else is there. The result of the job is a `RestoreResult`.
   */
  restore(range: number, directory: string, choice?: RestoreChoice): Promise<StartedJob>;
  /** Undefined: there is no such job. */
  job(job: number): Promise<JobInfo | undefined>;
}

/** The control of partitions that the answering process has. */
export interface ServedPartitionControl extends PartitionControl {
  /** Ranges, calls and operations in the text format of Prometheus. */
  metrics(): Promise<string>;
}

/** A server whose data may be over several stores. */
export interface PartitionTarget {
  /** Undefined: all data are in one location. */
  readonly partitions: ServedPartitionControl | undefined;
}

type Handler = (
  control: ServedPartitionControl,
  request: ControlRequest,
) => Promise<ControlReply> | ControlReply;

function route(method: string, path: string, handler: Handler): ControlRoute<PartitionTarget> {
  return {
    methods: [method],
    path: path.split('/'),
    async answer({ partitions }, request) {
      if (partitions === undefined) {
        throw new ControlError(
          409,
          'All data of this server are in one location. Name stores in its configuration: ' +
            'stores: {} for none yet.',
        );
      }
      try {
        return await handler(partitions, request);
      } catch (error) {
        if (error instanceof PartitionRefusal) throw new ControlError(409, error.message);
        throw error;
      }
    },
  };
}

export const partitionRoutes: readonly ControlRoute<PartitionTarget>[] = [
  route('GET', 'partitions', async (control) => ok(await control.list())),
  route('POST', 'partitions/sizes', async (control) => begun(await control.sizes())),
  route('POST', 'partitions/*/split', async (control, request) => {
    const { at } = membersOf(request, ['at']);
    if (at === undefined) return begun(await control.halve(numberAt(request, 1)));
    if (typeof at !== 'string' || at === '') {
      throw wrong(
        'at',
        'a place, such as table/account/table/partition, or left out for the middle',
      );
    }
    return begun(await control.split(numberAt(request, 1), at));
  }),
  route('POST', 'partitions/*/merge', async (control, request) => {
    const { with: other } = membersOf(request, ['with']);
    if (!isWhole(other)) throw wrong('with', 'the number of the range behind it');
    return begun(await control.merge(numberAt(request, 1), other));
  }),
  route('POST', 'partitions/*/move', async (control, request) => {
    const { to, pauseMaxMs } = membersOf(request, ['to', 'pauseMaxMs']);
    if (typeof to !== 'string' || to === '') throw wrong('to', 'the name of a store');
    if (pauseMaxMs !== undefined && !isWhole(pauseMaxMs)) throw wrong('pauseMaxMs', 'milliseconds');
    return begun(await control.move(numberAt(request, 1), to, pauseMaxMs));
  }),
  route('GET', 'partition-operations/*', async (control, request) => {
    const operation = numberAt(request, 1);
    const found = await control.operation(operation);
    if (found === undefined) throw new ControlError(404, noOperation(operation));
    return ok(found);
  }),
  route('DELETE', 'partition-operations/*', async (control, request) =>
    begun(await control.cancel(numberAt(request, 1))),
  ),
  route('GET', 'partitions/metrics', async (control) => ({
    ...ok(await control.metrics()),
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
  })),
  route('POST', 'partition-balance', async (control, request) => {
    const { dryRun = false } = membersOf(request, ['dryRun']);
    if (typeof dryRun !== 'boolean') throw wrong('dryRun', 'true or false');
    // Commands ask for a plan again and again until loads are measured.
    return { ...ok(await control.balance(dryRun)), isLook: dryRun };
  }),
  route('PUT', 'partition-stores/*', async (control, request) => {
    await control.addStore(segmentAt(request, 1), newStoreOf(request));
    return ok({ added: segmentAt(request, 1) });
  }),
  route('POST', 'partition-stores/*/drain', async (control, request) => {
    await control.drainStore(segmentAt(request, 1));
    return begun({ draining: segmentAt(request, 1) });
  }),
  route('DELETE', 'partition-stores/*', async (control, request) => {
    const { lost } = membersOf(request, ['lost']);
    if (lost !== undefined && typeof lost !== 'boolean') throw wrong('lost', 'true or false');
    await control.removeStore(segmentAt(request, 1), { ...(lost !== undefined && { lost }) });
    return ok({ removed: segmentAt(request, 1) });
  }),
  route('POST', 'partition-verification', async (control, request) => {
    const { range, repair, keysPerSecond, anew } = membersOf(request, verifyMembers);
    if (range !== undefined && !isWhole(range)) throw wrong('range', 'the number of a range');
    if (repair !== undefined && typeof repair !== 'boolean') throw wrong('repair', 'true or false');
    if (keysPerSecond !== undefined && !(isWhole(keysPerSecond) && keysPerSecond > 0)) {
      throw wrong('keysPerSecond', 'a whole number above 0');
    }
    if (anew !== undefined && typeof anew !== 'boolean') throw wrong('anew', 'true or false');
    const choice: VerifyChoice = {
      ...(range !== undefined && { range }),
      ...(repair !== undefined && { repair }),
      ...(keysPerSecond !== undefined && { keysPerSecond }),
      ...(anew !== undefined && { anew }),
    };
    return begun(await control.verify(choice));
  }),
  route('POST', 'partitions/*/backup', async (control, request) =>
    begun(await control.backUp(numberAt(request, 1), directoryOf(request))),
  ),
  route('POST', 'partitions/*/restore', async (control, request) =>
    begun(await control.restore(numberAt(request, 1), ...restoreOf(request))),
  ),
  route('GET', 'partition-jobs/*', async (control, request) => {
    const job = numberAt(request, 1);
    const found = await control.job(job);
    if (found === undefined) throw new ControlError(404, `There is no job ${job}.`);
    return ok(found);
  }),
];

const verifyMembers = ['range', 'repair', 'keysPerSecond', 'anew'] as const;

export function noOperation(operation: number): string {
  return (
    `There is no operation ${operation} any more, and this process does not know how it ended. ` +
    'See the list of partitions.'
  );
}

function begun(body: unknown): ControlReply {
  return { status: 202, body };
}

function numberAt(request: ControlRequest, at: number): number {
  const text = segmentAt(request, at);
  const number = /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined;
  if (number !== undefined) return number;
  throw new ControlError(400, `'${text.slice(0, 40)}' is no number: see the list of partitions.`);
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function directoryOf(request: ControlRequest): string {
  return absolute(membersOf(request, ['directory']).directory);
}

function restoreOf(request: ControlRequest): [directory: string, choice: RestoreChoice] {
  const { directory, as, of } = membersOf(request, ['directory', 'as', 'of']);
  if (as !== undefined && typeof as !== 'string') throw wrong('as', placeForm);
  if (of !== undefined && typeof of !== 'string') throw wrong('of', placeForm);
  if (of !== undefined && as === undefined) throw new ControlError(400, 'of needs as beside it.');
  const choice = { ...(as !== undefined && { as }), ...(of !== undefined && { of }) };
  return [absolute(directory), choice];
}

const placeForm = 'a place, such as table/account/table';

function absolute(directory: unknown): string {
  if (typeof directory === 'string' && isAbsolute(directory)) return directory;
  throw wrong('directory', 'the absolute path of a directory');
}

function newStoreOf(request: ControlRequest): NewStore {
  const given = membersOf(request, [...locationMembers, 'inMemory']);
  const { inMemory } = given;
  if (inMemory !== undefined && inMemory !== true) {
    throw wrong('inMemory', 'true, or left out for a store that is not in memory');
  }
  return { ...locationTextsOf(given), ...(inMemory === true && { inMemory }) };
}
