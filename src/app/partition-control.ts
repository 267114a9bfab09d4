import { compareBytes, type Bytes } from '../base/bytes.js';
import { unreachable } from '../base/invariant.js';
import { messageOf } from '../base/thrown.js';
import {
  PartitionRefusal,
  type JobInfo,
  type OperationInfo,
  type PartitionControl,
  type PartitionInfo,
  type PartitionsInfo,
  type Started,
  type StartedJob,
  type StoreInfo,
  type VerifyResult,
} from '../http/control/partitions.js';
import type { Begun, Refusal } from '../partition/operations/operations.js';
import { boundText } from '../partition/bound-text.js';
import { dataOf } from '../partition/range-map.js';
import type { OperationRow, RangeRow } from '../partition/rows.js';
import { splitPoint } from '../partition/split-point.js';
import type { End } from '../partition/operations/steward.js';
import { verify, type Finding } from '../partition/verify.js';
import { ContainerNames } from './partitions/container-names.js';
import { Jobs } from './partitions/jobs.js';
import type { OpenPartitions } from './open-partitions.js';

/** What people do to the ranges and stores of an open key space. */
export class Partitions implements PartitionControl {
  readonly #open: OpenPartitions;
  readonly #names: ContainerNames;
  readonly #jobs = new Jobs();

  constructor(open: OpenPartitions) {
    this.#open = open;
    this.#names = new ContainerNames(open);
  }

  async list({ sizes }: { readonly sizes: boolean }): Promise<PartitionsInfo> {
    const { catalogue } = this.#open;
    const { ranges } = await catalogue.map();
    const bounds = await this.#names.texts(ranges.map(({ start }) => start));
    const infos: PartitionInfo[] = [];
    for (const [at, range] of ranges.entries()) {
      const { id, store, epoch, operation } = range;
      infos.push({
        range: id,
        from: bounds[at] ?? '',
        to: bounds[at + 1] ?? '',
        store,
        epoch,
        ...(operation !== 0 && { operation }),
        ...(sizes && (await this.#sizeOf(range))),
      });
    }
    const operations = (await catalogue.operations()).map(({ row }) => this.#running(row));
    return { ranges: infos, stores: await this.#stores(ranges), operations };
  }

  async split(range: number, at?: string): Promise<Started> {
    const bound = at === undefined ? await this.#middleOf(range) : await this.#names.bound(at);
    if (bound === undefined) {
      throw new PartitionRefusal(
        `'${at ?? ''}' is no place of partitions: write service/account/table/partition, such as ` +
          'table/devstoreaccount1/movies/Drama, or its beginning. Its table or queue must exist.',
      );
    }
    return this.#begun(await this.#open.steward.operations.beginSplit(range, bound), { range });
  }

  async merge(left: number, right: number): Promise<Started> {
    const begun = await this.#open.steward.operations.beginMerge(left, right);
    return this.#begun(begun, { range: left });
  }

  async move(range: number, to: string, pauseMaxMs?: number): Promise<Started> {
    const begun = await this.#open.steward.operations.beginMove(range, to);
    return this.#begun(begun, { range, store: to }, pauseMaxMs);
  }

  cancel(operation: number): Promise<boolean> {
    return this.#open.steward.cancel(operation);
  }

  async operation(operation: number): Promise<OperationInfo | undefined> {
    const found = await this.#open.catalogue.operation(operation);
    if (found !== undefined) return this.#running(found.row);
    const end = this.#open.steward.end(operation);
    return end && { operation, ...endOf(end) };
  }

  async verify(): Promise<StartedJob> {
    const { catalogue, members, settings } = this.#open;
    const { ranges } = await catalogue.map();
    return this.#jobs.start('keys', async (progress): Promise<VerifyResult> => {
      const { clock } = settings;
      const onKeys = (keys: number) => progress.add(keys);
      const findings = await verify({ catalogue, members, clock, onKeys });
      return { findings: findings.map((finding) => findingText(finding, ranges)) };
    });
  }

  job(job: number): Promise<JobInfo | undefined> {
    return Promise.resolve(this.#jobs.find(job));
  }

  #begun(
    begun: Begun,
    about: { readonly range: number; readonly store?: string },
    pauseMaxMs?: number,
  ): Started {
    if (!begun.ok) throw new PartitionRefusal(refusalText(begun.refusal, about, this.#storeNames));
    this.#open.steward.run(begun.operation, pauseMaxMs);
    return { operation: begun.operation };
  }

  get #storeNames(): string {
    return this.#open.members.names.join(', ');
  }

  async #middleOf(range: number) {
    const { catalogue, members } = this.#open;
    const found = await catalogue.range(range);
    if (found === undefined) {
      throw new PartitionRefusal(refusalText('no such range', { range }, this.#storeNames));
    }
    const at = await splitPoint(members.named(found.row.store), found.row);
    if (at !== undefined) return at;
    throw new PartitionRefusal(
      `Range ${range} has fewer than two partitions, and a partition is never cut. When it is too ` +
        'large or too busy, spread its entities over more partition keys.',
    );
  }

  async #sizeOf(range: RangeRow): Promise<Pick<PartitionInfo, 'keys' | 'bytes'>> {
    const store = this.#open.members.named(range.store);
    const { keys, bytes } = await store.sample(dataOf(range), 0);
    return { keys, bytes };
  }

  async #stores(ranges: readonly RangeRow[]): Promise<readonly StoreInfo[]> {
    const { catalogue, members } = this.#open;
    return (await catalogue.stores()).map(({ row: { name, state, place } }) => ({
      store: name,
      state,
      place,
      ranges: ranges.filter(({ store }) => store === name).length,
      isHome: name === members.homeName,
    }));
  }

  #running(row: OperationRow): OperationInfo {
    const progress = this.#open.steward.progress(row.id);
    const end = this.#open.steward.end(row.id);
    const { id: operation, kind } = row;
    const head = { operation, state: 'running', kind, ranges: rangesOf(row) } as const;
    const ofMove = row.kind === 'move' && {
      from: row.source,
      to: row.target,
      step: progress?.step ?? row.step,
      ...(progress !== undefined && { bytesCopied: progress.bytesCopied }),
      ...(progress?.bytesTotal !== undefined && { bytesTotal: progress.bytesTotal }),
    };
    const problem = end?.state === 'failed' && { problem: messageOf(end.error) };
    return { ...head, ...ofMove, ...problem };
  }
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

function refusalText(
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
        'Split or move the ranges of queues and tables.'
      );
    case 'the store is draining':
      return `The store '${store}' is being emptied: choose another one, or add it again.`;
    default:
      return unreachable(refusal);
  }
}

function findingText(finding: Finding, ranges: readonly RangeRow[]): string {
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
