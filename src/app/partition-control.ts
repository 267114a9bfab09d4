import type { Bytes } from '../base/bytes.js';
import { unreachable } from '../base/invariant.js';
import { messageOf } from '../base/thrown.js';
import {
  PartitionRefusal,
  type BalanceInfo,
  type CancelResult,
  type JobInfo,
  type NewStore,
  type OperationInfo,
  type ServedPartitionControl,
  type PartitionInfo,
  type PartitionsInfo,
  type RemoveChoice,
  type RestoreChoice,
  type RestoreResult,
  type Started,
  type StartedJob,
  type StoreInfo,
  type VerifyChoice,
} from '../http/control/partitions.js';
import type { RangeSample } from '../kv/sample.js';
import type { BeginResult, Operations } from '../partition/operations/operations.js';
import { dataOf } from '../partition/range-map.js';
import { metricsText } from '../partition/metrics.js';
import type { OperationRow, RangeRow } from '../partition/rows.js';
import { beginPlanned, type PlannedOperation } from '../partition/balancer/balancer.js';
import { RangeLoads } from '../partition/balancer/range-loads.js';
import { meanCallMs, type MeasuredRange } from '../partition/load/range-meter.js';
import { knownStores } from '../partition/membership.js';
import {
  answeredSample,
  answeringHome,
  answeringReads,
  SilentStoreError,
} from '../partition/reach.js';
import { splitPoint } from '../partition/split-point.js';
import type { End } from '../partition/operations/operation-runner.js';
import { newBackup, storedBackup, type Backup } from './partition-backups.js';
import { ContainerNames } from './partitions/container-names.js';
import { Jobs, type JobProgress } from './partitions/jobs.js';
import { refusalOf, refuse, unlessSilent } from './partition-refusals.js';
import { StoreChanges } from './partition-stores.js';
import { drainText, plannedText, idleReasonText } from './partitions/texts.js';
import { verified } from './partition-verification.js';
import type { OpenPartitions } from './open-partitions.js';

type RangeSize = Required<Pick<PartitionInfo, 'keys' | 'bytes'>>;

/** How often a range is measured that moves each time. */
const measuringsMax = 5;

/** What people can ask of the ranges and stores of an open key space. */
export class Partitions implements ServedPartitionControl {
  readonly #open: OpenPartitions;
  readonly #names: ContainerNames;
  readonly #jobs = new Jobs();
  readonly #loads: RangeLoads;
  readonly #stores: StoreChanges;
  readonly #process: string;

  constructor(open: OpenPartitions) {
    this.#open = open;
    const { timers } = open.settings;
    this.#names = new ContainerNames(answeringReads(open, timers));
    this.#loads = new RangeLoads(answeringHome(open.members, timers));
    this.#stores = new StoreChanges(open);
    this.#process = open.settings.randomness.uuid();
  }

  list(): Promise<PartitionsInfo> {
    return this.#listed(new Map());
  }

  sizes(): Promise<StartedJob> {
    const job = this.#jobs.start('keys', async (progress): Promise<PartitionsInfo> => {
      return this.#listed(await this.#measured(progress));
    });
    return Promise.resolve(job);
  }

  async #listed(sizes: ReadonlyMap<number, RangeSize>): Promise<PartitionsInfo> {
    const { catalogue } = this.#open;
    const { ranges } = await catalogue.map();
    const bounds = await this.#names.texts(ranges.map(({ start }) => start));
    const loads = await this.#loads.read(this.#open.settings.clock.monotonicMs());
    const operations = (await catalogue.operations()).map(({ row }) => row);
    const infos: PartitionInfo[] = [];
    for (const [at, range] of ranges.entries()) {
      const { id, store, epoch, operation } = range;
      infos.push({
        range: id,
        from: bounds[at] ?? '',
        to: bounds[at + 1] ?? '',
        store,
        epoch,
        state: operations.find((each) => each.id === operation)?.kind ?? 'serving',
        ...(operation !== 0 && { operation }),
        ...rates(loads.get(id)),
        ...sizes.get(id),
      });
    }
    const running = operations.map((row) => this.#running(row));
    return { ranges: infos, stores: await this.#storeInfos(ranges), operations: running };
  }

  split(range: number, at: string): Promise<Started> {
    return unlessSilent(this.#split(range, at));
  }

  async #split(range: number, at: string): Promise<Started> {
    const bound = await this.#names.bound(at);
    if (bound === undefined) {
      throw new PartitionRefusal(
        `No partition begins at '${at}': its table or queue does not exist, or it is not written as ` +
          'service/account/table/partition, such as table/devstoreaccount1/movies/Drama, or the ' +
          'beginning of that.',
      );
    }
    return this.#splitAt(range, bound);
  }

  halve(range: number): Promise<StartedJob> {
    return unlessSilent(this.#halve(range));
  }

  async #halve(range: number): Promise<StartedJob> {
    const { operation } = await this.#rangeRow(range);
    if (operation !== 0) throw await refusalOf(this.#open, 'the range is busy', { range });
    const halved = async (progress: JobProgress): Promise<Started> =>
      this.#splitAt(range, await this.#middleOf(range, progress));
    return this.#jobs.start('keys', (progress) => unlessSilent(halved(progress)));
  }

  async #splitAt(range: number, at: Bytes): Promise<Started> {
    return this.#begun(await this.#operations.beginSplit(range, at), {
      range,
    });
  }

  merge(left: number, right: number): Promise<Started> {
    return unlessSilent(this.#merge(left, right));
  }

  async #merge(left: number, right: number): Promise<Started> {
    // So a refusal names the one that there is not.
    for (const range of [left, right]) await this.#rangeRow(range);
    const begun = await this.#operations.beginMerge(left, right);
    return this.#begun(begun, { range: left });
  }

  async move(range: number, to: string, pauseMaxMs?: number): Promise<Started> {
    const begun = await unlessSilent(this.#operations.beginMove(range, to));
    return this.#begun(begun, { range, store: to }, pauseMaxMs);
  }

  cancel(operation: number): Promise<StartedJob> {
    const job = this.#jobs.start('keys', async (progress): Promise<CancelResult> => {
      const onDeleted = (keys: number) => progress.add(keys);
      const cancelled = this.#open.operationRunner.cancel(operation, onDeleted);
      return { cancelled: await unlessSilent(cancelled) };
    });
    return Promise.resolve(job);
  }

  async operation(operation: number): Promise<OperationInfo | undefined> {
    const found = await this.#open.catalogue.operation(operation);
    if (found !== undefined) return this.#running(found.row);
    const end = await this.#open.operationRunner.ended(operation);
    return end && { operation, ...endOf(end) };
  }

  async balance(dryRun: boolean): Promise<BalanceInfo> {
    const advice = await unlessSilent(this.#open.balancer.advice());
    const { operations, findings, idleReasons, away, measuredMs, neededMs, unsized } = advice;
    const planned = Promise.all(operations.map((each) => plannedText(each, this.#names)));
    const texts = await unlessSilent(planned);
    const begun = await this.#beginPlanned(dryRun ? [] : operations);
    const told = findings.map(
      ({ kind, range, callsPerSecond, advice }) =>
        `Range ${range}: ${kind}, ${Math.round(callsPerSecond)} calls a second. ${advice}`,
    );
    const known = { measuredMs: Math.floor(measuredMs), neededMs, unsized };
    const notes = idleReasons.map(idleReasonText);
    return { operations: texts, findings: told, notes, begun, away: [...away], ...known };
  }

  /** The operations that have begun. The error for a silent store names them. */
  async #beginPlanned(operations: readonly PlannedOperation[]): Promise<readonly number[]> {
    const begun: number[] = [];
    for (const each of operations) {
      try {
        const answer = await beginPlanned(this.#operations, each);
        // Another process has begun an operation on the range meanwhile, so this one is not needed.
        if (!answer.ok) continue;
        this.#open.operationRunner.run(answer.operation);
        begun.push(answer.operation);
      } catch (error) {
        if (!(error instanceof SilentStoreError) || begun.length === 0) throw error;
        throw error.saying(`Of the plan, operations ${begun.join(', ')} have begun.`);
      }
    }
    return begun;
  }

  async metrics(): Promise<string> {
    const { catalogue, members, meter, counters, balancer, settings } = this.#open;
    const { last } = balancer;
    const operations = await catalogue.operations();
    return metricsText({
      map: await catalogue.map(),
      stores: (await knownStores(catalogue, members)).map(({ row }) => row.name),
      operations: operations.map(({ row }) => row),
      loads: await this.#loads.read(settings.clock.monotonicMs()),
      bytesOf: last && ((range) => last.sizeOf(range)?.bytes),
      callsByStore: meter.callsByStore,
      counters,
      hotPartitions: last?.findings.length,
    });
  }

  addStore(name: string, store: NewStore): Promise<void> {
    return this.#stores.add(name, store);
  }

  drainStore(name: string): Promise<void> {
    return this.#stores.drain(name);
  }

  removeStore(name: string, { lost = false }: RemoveChoice = {}): Promise<void> {
    return lost ? this.#stores.removeLost(name) : this.#stores.remove(name);
  }

  async verify(choice: VerifyChoice = {}): Promise<StartedJob> {
    if (choice.range !== undefined) await this.#rangeRow(choice.range);
    const tools = { open: this.#open, names: this.#names, owner: this.#process };
    return this.#jobs.start('keys', (progress) => verified(tools, choice, progress));
  }

  async backUp(range: number, directory: string): Promise<StartedJob> {
    const { members, operationRunner, settings } = this.#open;
    const found = await this.#rangeRow(range);
    const backup = await newBackup(settings, directory).catch(refuse);
    const operation = await closing(backup, async () =>
      this.#accepted(await unlessSilent(this.#operations.beginBackup(range)), range),
    );
    const { job } = this.#jobs.start('bytes', (progress) =>
      backup.use(async (store) => {
        tellTotal(progress, members.named(found.store).sample(dataOf(found), 0));
        const operations = operationRunner.operationsWith({
          onCopied: (bytes) => progress.add(bytes),
        });
        await backup.make(found, () => operations.backUp(operation, store));
        return { directory };
      }),
    );
    return { job, operation };
  }

  async restore(
    range: number,
    directory: string,
    { as, of }: RestoreChoice = {},
  ): Promise<StartedJob> {
    const { operationRunner, settings } = this.#open;
    const found = await this.#rangeRow(range);
    const renamed = as === undefined ? undefined : await this.#containerAt(as);
    const backup = await storedBackup(settings, directory).catch(refuse);
    const leftOut = await closing(backup, async () => {
      if (renamed !== undefined) await backup.renameTo(renamed, of);
      await backup.assertWithin(found);
      if (renamed !== undefined) return [];
      return backup.leaveDeletedOut((service, account) => this.#names.namesOf(service, account));
    }).catch(refuse);
    const operation = await closing(backup, async () =>
      this.#accepted(await unlessSilent(this.#operations.beginRestore(range)), range),
    );
    const { job } = this.#jobs.start('bytes', (progress) =>
      backup.use(async (store): Promise<RestoreResult> => {
        tellTotal(progress, store.sample(backup.restored, 0));
        const operations = operationRunner.operationsWith({
          onCopied: (bytes) => progress.add(bytes),
        });
        await operations.restore(operation, await backup.source());
        return { directory, leftOut };
      }),
    );
    return { job, operation };
  }

  job(job: number): Promise<JobInfo | undefined> {
    return Promise.resolve(this.#jobs.find(job));
  }

  get #operations(): Operations {
    return this.#open.operationRunner.operations;
  }

  async #begun(
    begun: BeginResult,
    about: { readonly range: number; readonly store?: string },
    pauseMaxMs?: number,
  ): Promise<Started> {
    if (!begun.ok) throw await refusalOf(this.#open, begun.refusal, about);
    this.#open.operationRunner.run(begun.operation, pauseMaxMs);
    const { operation, newRanges } = begun;
    return newRanges.length === 0 ? { operation } : { operation, newRanges };
  }

  async #accepted(begun: BeginResult, range: number): Promise<number> {
    if (begun.ok) return begun.operation;
    throw await refusalOf(this.#open, begun.refusal, { range });
  }

  /** The prefix of the keys of a table or a queue. */
  async #containerAt(place: string): Promise<Bytes> {
    const prefix = await this.#names.container(place);
    if (prefix !== undefined) return prefix;
    throw new PartitionRefusal(
      `'${place}' is no table or queue: write table/account/table or queue/account/queue. It must ` +
        'exist, also where # and its number stand for the name.',
    );
  }

  async #rangeRow(range: number): Promise<RangeRow> {
    const found = await this.#open.catalogue.range(range);
    if (found !== undefined) return found.row;
    throw await refusalOf(this.#open, 'no such range', { range });
  }

  async #middleOf(range: number, progress: JobProgress): Promise<Bytes> {
    const onKeys = (keys: number) => progress.add(keys);
    const { timers } = this.#open.settings;
    const found = await this.#whileItStays(range, async (row) => ({
      at: await splitPoint(this.#open.members, row, { onKeys, timers }),
    }));
    if (found === undefined) {
      const { store } = await this.#rangeRow(range);
      throw new PartitionRefusal(
        `Range ${range} moves again and again while it is measured; it is in the store '${store}' ` +
          'now. Split it when it stays there, or say where: --at.',
      );
    }
    if (found.at !== undefined) return found.at;
    throw new PartitionRefusal(
      `Range ${range} has fewer than two partitions, and a partition is never cut. When it is too ` +
        'large or too busy, spread its entities over more partition keys.',
    );
  }

  /**
   * What was measured of a range in its store: again when it has moved meanwhile, because its
   * former store deletes it then, and may be taken out. Undefined when it is split or merged, or
   * moves again and again.
   */
  async #whileItStays<Result>(
    range: number,
    measure: (row: RangeRow) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { catalogue } = this.#open;
    let row = (await catalogue.range(range))?.row;
    for (let tries = 0; row !== undefined && tries < measuringsMax; tries += 1) {
      const [measured] = await Promise.allSettled([measure(row)]);
      const now: RangeRow | undefined = (await catalogue.range(range))?.row;
      if (now?.epoch === row.epoch) return fulfilled(measured);
      row = now;
    }
    return undefined;
  }

  /** The sizes of the ranges by number, without those that are split or merged meanwhile. */
  async #measured(progress: JobProgress): Promise<ReadonlyMap<number, RangeSize>> {
    const { catalogue, members, settings } = this.#open;
    const { timers } = settings;
    const onKeys = (keys: number) => progress.add(keys);
    const sizes = new Map<number, RangeSize>();
    for (const { id } of (await catalogue.map()).ranges) {
      const size = await this.#whileItStays(id, async (row) => {
        const { store } = row;
        const part = { range: dataOf(row), cuts: 0, onKeys };
        return answeredSample(members.named(store), part, { store, timers });
      });
      if (size !== undefined) sizes.set(id, { keys: size.keys, bytes: size.bytes });
    }
    return sizes;
  }

  async #storeInfos(ranges: readonly RangeRow[]): Promise<readonly StoreInfo[]> {
    const { catalogue, members, operationRunner } = this.#open;
    return (await catalogue.stores()).map(({ row: { name, state, location } }) => {
      const own = ranges.filter(({ store }) => store === name).length;
      const info = { store: name, state, location, ranges: own, isHome: name === members.homeName };
      const problem = operationRunner.drainProblem(name);
      return problem === undefined ? info : withProblem(info, drainText(problem));
    });
  }

  #running(row: OperationRow): OperationInfo {
    const progress = this.#open.operationRunner.progress(row.id);
    const failure = this.#open.operationRunner.failure(row.id);
    const { id: operation, kind } = row;
    const head = { operation, state: 'running', kind, ranges: rangesOf(row) } as const;
    const ofMove = row.kind === 'move' && {
      from: row.source,
      to: row.target,
      step: progress?.step ?? row.step,
      ...(progress !== undefined && { bytesCopied: progress.bytesCopied }),
      ...(progress?.bytesTotal !== undefined && { bytesTotal: progress.bytesTotal }),
    };
    const problem = failure !== undefined && { problem: messageOf(failure) };
    return { ...head, ...ofMove, ...problem };
  }
}

/** What was measured. Throws why it was not. */
function fulfilled<Result>(measured: PromiseSettledResult<Result>): Result {
  if (measured.status === 'fulfilled') return measured.value;
  throw measured.reason;
}

function withProblem(info: StoreInfo, problem: string): StoreInfo {
  return { ...info, problem };
}

/**
 * Tells the total once it is known. Samples may read all keys, and nobody renews the lease of the
 * operation before its work begins, so the work does not wait for it.
 */
function tellTotal(progress: JobProgress, sample: Promise<RangeSample>): void {
  // The total is only shown to people, so a failure does not matter.
  sample.then(({ bytes }) => progress.total(bytes)).catch(() => undefined);
}

/** Closes a backup when the work with it fails. */
async function closing<Result>(backup: Backup, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await backup.close();
    throw error;
  }
}

function rates(load: MeasuredRange | undefined) {
  if (load === undefined) return {};
  const { readsPerSecond, writesPerSecond, bytesReadPerSecond, bytesWrittenPerSecond } = load;
  const bytes = { bytesReadPerSecond, bytesWrittenPerSecond };
  return { readsPerSecond, writesPerSecond, ...bytes, callMs: meanCallMs(load) };
}

function rangesOf(row: OperationRow): readonly number[] {
  return row.kind === 'merge' ? [row.left, row.right] : [row.range];
}

function endOf(end: End): Pick<OperationInfo, 'state' | 'problem'> {
  switch (end.state) {
    case 'done':
    case 'cancelled':
      return { state: end.state };
    case 'another':
      return { state: 'cancelled', problem: 'Another process has cancelled it, or finished it.' };
    case 'failed':
      return { state: 'failed', problem: messageOf(end.error) };
    default:
      return unreachable(end);
  }
}
