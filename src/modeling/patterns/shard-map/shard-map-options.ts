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
  /**
   * Copies of that table, such as in other regions: the map is read there while `control` cannot be
   * reached. See `ShardMap.publish`.
   */
  readonly controlCopies?: readonly TableGateway[];
  /** The table of each shard, of any account. Tables that the map does not use are ignored. */
  readonly shards: Readonly<Record<string, TableGateway>>;
  /**
   * The part of a PartitionKey that is routed, such as its tenant; all of it when absent. Must be
   * pure, and the same in every program: see `routedBy`.
   */
  readonly routeBy?: (partitionKey: string) => string;
  /**
   * `routed`: reads follow the map as it was at most `refreshMs` ago, so their results may be that
   * old while a partition is handed over. `owned`: reads first check that the shard owns the
   * partition, for one more point read, and are as current as those of one table. `routed` when
   * absent.
   */
  readonly reads?: 'routed' | 'owned';
  /** How long a program uses a map that it has read, in milliseconds; 5,000 when absent. */
  readonly refreshMs?: number;
  /**
   * How long `cleanUp` waits for readers after the map has changed, in milliseconds; 30,000 when
   * absent. Must exceed `refreshMs` and the longest read. Writes do not depend on it.
   */
  readonly settleMs?: number;
  /**
   * After how many milliseconds without activity another program takes over an abandoned handover;
   * 10,000 when absent.
   */
  readonly takeOverMs?: number;
  /** How long a write waits for a handover, in milliseconds; 60,000 when absent. */
  readonly patienceMs?: number;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/** A partition that `cleanUp` has kept. */
export interface KeptPartition {
  readonly shard: string;
  readonly partitionKey: string;
  readonly reason: string;
}

export interface ShardStepOptions extends WalkOptions {
  readonly onKept?: (kept: KeptPartition) => void;
}

/**
 * Throws while one of these shards has a part of its rows, or gets those of a backup. Called after
 * a partition was claimed or closed there, and before its rows are copied, deleted or opened
 * elsewhere: what begins later finds the partition as it is then.
 */
export type RequireWhole = (shards: readonly (string | undefined)[]) => Promise<void>;

/** What a manager gives to its maps. */
export interface MapRules {
  readonly requireWhole: RequireWhole;
  /** Whether a change, or a query by texts, may name this text. */
  readonly isText: (text: string) => boolean;
  /** What texts are instead, for people. */
  readonly wanted: string;
}

/** The rules of a map without a manager. */
export const plainRules: MapRules = {
  requireWhole: () => Promise.resolve(),
  isText: () => true,
  wanted: '',
};

export const defaults = {
  refreshMs: 5_000,
  settleMs: 30_000,
  takeOverMs: 10_000,
  patienceMs: 60_000,
};
