import type { PartitionCounters } from './counters.js';
import {
  callsPerSecond,
  meanCallMs,
  type MeasuredCalls,
  type MeasuredRange,
} from './load/range-meter.js';
import type { RangeMap } from './range-map.js';
import type { OperationRow } from './rows.js';

/** The number of ranges that have lines of their own. These are the ones with the most calls. */
const rangesShown = 20;

export interface PartitionFacts {
  readonly map: RangeMap;
  readonly stores: readonly string[];
  readonly operations: readonly OperationRow[];
  readonly loads: ReadonlyMap<number, MeasuredRange>;
  /**
   * Bytes of keys and values of a range; undefined where they are not known. Undefined in a process
   * that has made no plan, which knows no sizes.
   */
  readonly bytesOf: ((range: number) => number | undefined) | undefined;
  readonly callsByStore: ReadonlyMap<string, MeasuredCalls>;
  readonly counters: PartitionCounters;
  /**
   * The number of ranges that a split would not relieve. Undefined in a process that has made no
   * plan.
   */
  readonly hotPartitions: number | undefined;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Follows the name, as in a summary of Prometheus. */
  readonly suffix?: string;
}

/** The state of ranges in the text format of Prometheus. */
export function metricsText(facts: PartitionFacts): string {
  return [...loadMetrics(facts), ...operationMetrics(facts)].join('');
}

function loadMetrics(facts: PartitionFacts): readonly string[] {
  const calls = [...facts.callsByStore].flatMap(([store, { reads, writes }]) => [
    { labels: { store, kind: 'read' }, value: reads },
    { labels: { store, kind: 'write' }, value: writes },
  ]);
  return [
    metric(
      'ranges',
      'gauge',
      byStore(facts, () => 1),
    ),
    metric('bytes', 'gauge', facts.bytesOf === undefined ? [] : byStore(facts, facts.bytesOf)),
    metric(
      'range_requests_per_second',
      'gauge',
      ofBusiest(facts, ({ readsPerSecond, writesPerSecond }) => ({
        read: readsPerSecond,
        write: writesPerSecond,
      })),
    ),
    metric(
      'range_bytes_per_second',
      'gauge',
      ofBusiest(facts, ({ bytesReadPerSecond, bytesWrittenPerSecond }) => ({
        read: bytesReadPerSecond,
        write: bytesWrittenPerSecond,
      })),
    ),
    metric(
      'range_call_seconds',
      'gauge',
      busiest(facts).map((load) => ({
        labels: rangeLabels(facts, load.id),
        value: meanCallMs(load) / 1_000,
      })),
    ),
    metric('requests_total', 'counter', calls),
  ];
}

function operationMetrics(facts: PartitionFacts): readonly string[] {
  const { counters, operations, hotPartitions } = facts;
  const steps = operations.map((row) => ({
    labels: { op: row.id, kind: row.kind, step: row.kind === 'move' ? row.step : row.kind },
    value: 1,
  }));
  const ended = counters.ended.map(({ kind, result, count }) => ({
    labels: { kind, result },
    value: count,
  }));
  const pauses = (['write', 'read'] as const).flatMap((kind) => {
    const { count, ms } = counters.pauses[kind];
    return [
      { labels: { kind }, suffix: '_sum', value: ms / 1_000 },
      { labels: { kind }, suffix: '_count', value: count },
    ];
  });
  return [
    metric('guard_refusals_total', 'counter', [{ value: counters.guardRefusals }]),
    metric('map_refreshes_total', 'counter', [{ value: counters.mapRefreshes }]),
    metric('ops_total', 'counter', ended),
    metric('op_step', 'gauge', steps),
    metric('move_pause_seconds', 'summary', pauses),
    metric('moved_bytes_total', 'counter', [{ value: counters.movedBytes }]),
    metric(
      'hot_partitions',
      'gauge',
      hotPartitions === undefined ? [] : [{ value: hotPartitions }],
    ),
  ];
}

function byStore(
  { map, stores }: PartitionFacts,
  valueOf: (range: number) => number | undefined,
): readonly Sample[] {
  const sums = new Map(stores.map((store) => [store, 0]));
  for (const { id, store } of map.ranges) {
    sums.set(store, (sums.get(store) ?? 0) + (valueOf(id) ?? 0));
  }
  return [...sums].map(([store, value]) => ({ labels: { store }, value }));
}

function busiest({ map, loads }: PartitionFacts): readonly MeasuredRange[] {
  return [...loads.values()]
    .filter(({ id }) => map.byId(id) !== undefined)
    .toSorted((left, right) => callsPerSecond(right) - callsPerSecond(left))
    .slice(0, rangesShown);
}

function ofBusiest(
  facts: PartitionFacts,
  valuesOf: (load: MeasuredRange) => Readonly<Record<'read' | 'write', number>>,
): readonly Sample[] {
  return busiest(facts).flatMap((load) =>
    Object.entries(valuesOf(load)).map(([kind, value]) => ({
      labels: { ...rangeLabels(facts, load.id), kind },
      value,
    })),
  );
}

function rangeLabels({ map }: PartitionFacts, range: number) {
  return { range, store: map.byId(range)?.store ?? '' };
}

function metric(
  name: string,
  type: 'gauge' | 'counter' | 'summary',
  samples: readonly Sample[],
): string {
  const whole = `tabularium_partition_${name}`;
  const lines = samples.map(({ labels = {}, value, suffix = '' }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${whole}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`;
  });
  return `# TYPE ${whole} ${type}\n${lines.join('')}`;
}

function escaped(text: string | number): string {
  return String(text).replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n');
}
