import { unreachable } from '../src/base/invariant.js';
import { pageBlobs, smallBlobBytes } from './blob-workloads.js';
import { batchRows, partitionRows } from './dataset.js';
import { median, row, shortNumber } from './figures.js';
import {
  blobPlan,
  emptyKind,
  isBlobKind,
  isQueueKind,
  queuePlan,
  type BlobKind,
  type QueueKind,
  type Service,
  type WorkloadKind,
} from './kinds.js';
import type { PairResult } from './load.js';
import type { ProcessUsage, ServerName } from './server-process.js';

/** One server under one kind of load for one round. */
export interface Measurement extends PairResult {
  readonly kind: WorkloadKind;
  readonly server: ServerName;
  readonly round: number;
  /** Processor time of the server, of all its threads, until it is at rest, per request. */
  readonly serverCpuMicros: number | undefined;
  /** The memory of the server after the load that no file backs. */
  readonly anonymousMb: number | undefined;
  /** The share of the machine that other work took. */
  readonly othersShare: number | undefined;
}

export interface MemoryReport {
  readonly server: ServerName;
  readonly afterLoading: ProcessUsage;
  readonly atEnd: ProcessUsage;
}

/** The target rate of a queue in messages a second (docs/internals/benchmark.md). */
const queueTargetPerSecond = 10_000;

export function titleOf(kind: WorkloadKind): string {
  if (isQueueKind(kind)) return queueTitle(kind);
  if (isBlobKind(kind)) return blobTitle(kind);
  switch (kind) {
    case 'point':
      return 'point read';
    case 'range':
      return `range of ${batchRows}`;
    case 'scan':
      return `scan of ${partitionRows}, 1 % match`;
    case 'insert':
      return 'insert';
    case 'insert-one':
      return 'insert, one connection';
    case 'merge':
      return 'merge of two properties';
    case 'point-under-writes':
      return 'point read under writes';
    case 'batch':
      return `EGT of ${batchRows} inserts`;
    default:
      return unreachable(kind);
  }
}

function queueTitle(kind: QueueKind): string {
  const { operation, waiting } = queuePlan(kind);
  const titles = {
    put: 'put',
    'get-delete': 'get 32, delete each',
    'get-delete-one': 'get 1, delete it',
  };
  const among = waiting === 0 ? '' : `, ${waiting.toLocaleString('en-US')} waiting`;
  return `${titles[operation]}${among}`;
}

function blobTitle(kind: BlobKind): string {
  const { mebibytes = 0 } = blobPlan(kind);
  const titles = {
    'blob-put': `put of ${smallBlobBytes} bytes`,
    'blob-get': `get of ${smallBlobBytes} bytes`,
    'blob-list': `page of ${pageBlobs.toLocaleString('en-US')}`,
    'blob-put-block': `put of a block of ${mebibytes} MiB, in MiB`,
    'blob-download': `download of ${mebibytes} MiB, in MiB`,
  };
  return titles[kind];
}

const unitsOf: Readonly<Record<Service, string>> = {
  table: 'req/s',
  queue: 'messages/s',
  blob: 'per second',
};

interface Summary {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
  readonly anonymousMb: number;
}

/** The medians over the rounds; `undefined` when this server was not measured. */
function summarize(
  measurements: readonly Measurement[],
  kind: WorkloadKind,
  server: ServerName,
): Summary | undefined {
  const own = measurements.filter((one) => one.kind === kind && one.server === server);
  if (own.length === 0) return undefined;
  return {
    rate: median(own.map((one) => one.units / one.seconds)),
    p50Ms: median(own.map((one) => one.p50Ms)),
    p99Ms: median(own.map((one) => one.p99Ms)),
    cpuMicros: median(own.map((one) => one.serverCpuMicros ?? Number.NaN)),
    anonymousMb: Math.max(...own.map((one) => one.anonymousMb ?? Number.NaN)),
  };
}

function ratio(of: Summary, to: Summary | undefined): string {
  return to === undefined ? '–' : `${shortNumber(of.rate / to.rate)} ×`;
}

/** One row per kind and server, in the order in which they were measured. */
export function loadTable(
  measurements: readonly Measurement[],
  service: Service,
  kinds: readonly WorkloadKind[],
  servers: readonly ServerName[],
): string {
  const isQueue = service === 'queue';
  const head = [
    'kind',
    'server',
    unitsOf[service],
    'p50 ms',
    'p99 ms',
    'CPU µs/req',
    'anon MB',
    ...(isQueue ? [`of ${queueTargetPerSecond.toLocaleString('en-US')}/s`] : []),
    'of Azurite',
    'of bare',
  ];
  const lines = [row(head), row(['---', '---', ...head.slice(2).map(() => '---:')])];
  for (const kind of kinds) {
    for (const server of servers) {
      const summary = summarize(measurements, kind, server);
      if (summary === undefined) continue;
      const { rate, p50Ms, p99Ms, cpuMicros, anonymousMb } = summary;
      lines.push(
        row([
          titleOf(kind),
          server,
          ...[rate, p50Ms, p99Ms, cpuMicros, anonymousMb].map(shortNumber),
          ...(isQueue ? [`${shortNumber(summary.rate / queueTargetPerSecond)} ×`] : []),
          ratio(summary, summarize(measurements, emptyKind(kind), 'azurite')),
          ratio(summary, summarize(measurements, emptyKind(kind), 'bare')),
        ]),
      );
    }
  }
  return lines.join('\n');
}

/** How concurrent writes slow reads down; empty when that was not measured. */
export function underWritesTable(
  measurements: readonly Measurement[],
  servers: readonly ServerName[],
): string {
  const kind = 'point-under-writes';
  const rows = servers.flatMap((server) => {
    const under = summarize(measurements, kind, server);
    if (under === undefined) return [];
    const own = measurements.filter((one) => one.kind === kind && one.server === server);
    const writes = median(own.map((one) => one.requestsBeside / one.seconds));
    const alone = summarize(measurements, 'point', server);
    const slower = alone === undefined ? '–' : `${shortNumber(under.p99Ms / alone.p99Ms)} ×`;
    return [row([server, shortNumber(writes), shortNumber(under.p99Ms), slower])];
  });
  if (rows.length === 0) return '';
  const head = row(['point read under writes', 'writes/s beside', 'p99 ms', 'of p99 alone']);
  return [head, row(['---', '---:', '---:', '---:']), ...rows].join('\n');
}

/** Resident memory in MB; in brackets the anonymous part, which excludes mapped files. */
export function memoryTable(reports: readonly MemoryReport[]): string {
  const cell = (usage: ProcessUsage): string =>
    `${shortNumber(usage.residentMb)} (${shortNumber(usage.anonymousMb)})`;
  return [
    row(['server', 'RSS MB after loading (anonymous)', 'RSS MB at the end (anonymous)']),
    row(['---', '---:', '---:']),
    ...reports.map((one) => row([one.server, cell(one.afterLoading), cell(one.atEnd)])),
  ].join('\n');
}
