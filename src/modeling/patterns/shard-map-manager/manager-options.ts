import type { Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import type { TableGateway } from '../../table/gateway.js';
import type { ShardMapOptions } from '../shard-map/shard-map-options.js';
import type { ShardLocation } from './shard-location.js';

/** The options that a shard map has as well apply to each map of the manager. */
export interface ShardMapManagerOptions extends Pick<
  ShardMapOptions,
  'reads' | 'refreshMs' | 'settleMs' | 'takeOverMs' | 'patienceMs' | 'timers'
> {
  /** The table with the rows of maps, shards and operations. It is not the table of a shard. */
  readonly control: TableGateway;
  /**
   * Copies of that table, such as in other regions, which programs read while it cannot be reached.
   * See `ShardMapManager.publish`.
   */
  readonly controlCopies?: readonly TableGateway[];
  /**
   * Where reference data are written; each shard has a copy of them. Absent: there are no reference
   * data.
   */
  readonly home?: ShardLocation;
  /** Where each shard is. Those that are not registered are not used. */
  readonly shards: Readonly<Record<string, ShardLocation>>;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly randomness?: Randomness;
}
