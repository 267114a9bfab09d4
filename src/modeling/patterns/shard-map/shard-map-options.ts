import type { Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import type { Timers } from '../../../base/async/timers.js';
import type { TableGateway } from '../../table/gateway.js';
import type { WalkOptions } from './partition-walk.js';

export interface ShardMapOptions {
  /** Names the map in its rows. */
  readonly name: string;
  /** Where the map is stored: a table of its own, or one of the shards. */
  readonly control: TableGateway;
  /** The table of each shard, of any account. Those that the map does not use do no harm. */
  readonly shards: Readonly<Record<string, TableGateway>>;
  /**
   * The part of a PartitionKey that is routed, such as its tenant; all of it when absent. Pure,
   * and the same in every program: see `routedBy`.
   */
  readonly routeBy?: (partitionKey: string) => string;
  /**
   * `routed`: reads go where the map says, as it was at most `refreshMs` ago, so they may be as
   * old while a partition is handed over. `owned`: they first look whether the shard owns the
   * partition, which is a point read more, and are as new as those of one table. `routed` when
   * absent.
   */
  readonly reads?: 'routed' | 'owned';
  /** For how many milliseconds a program goes by the map that it has read; 5,000 when absent. */
  readonly refreshMs?: number;
  /**
   * For how long `cleanUp` waits for readers after the map has changed, in milliseconds; 30,000
   * when absent: more than `refreshMs` and the longest read. Writes do not depend on it.
   */
  readonly settleMs?: number;
  /**
   * After how many milliseconds without activity a writer takes over an abandoned handover; 10,000
   * when absent.
   */
  readonly takeOverMs?: number;
  /** How long a write waits for a handover, in milliseconds; 60,000 when absent. */
  readonly patienceMs?: number;
  /** The machine's when absent. */
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/** A partition that `cleanUp` has left as it is. */
export interface KeptPartition {
  readonly shard: string;
  readonly partitionKey: string;
  readonly reason: string;
}

export interface ShardStepOptions extends WalkOptions {
  readonly onKept?: (kept: KeptPartition) => void;
}

/** What holds when an option is absent. */
export const defaults = {
  refreshMs: 5_000,
  settleMs: 30_000,
  takeOverMs: 10_000,
  patienceMs: 60_000,
};
