import type { Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import type { TableGateway } from '../../table/gateway.js';
import type { ShardMapOptions } from '../shard-map/shard-map-options.js';
import type { ShardPlace } from './shard-place.js';

/** As those of a shard map, for each of its maps. */
export interface ShardMapManagerOptions extends Pick<
  ShardMapOptions,
  'reads' | 'refreshMs' | 'settleMs' | 'takeOverMs' | 'patienceMs' | 'timers'
> {
  /** Where maps, shards and operations are kept: a table that is no shard. */
  readonly control: TableGateway;
  /**
   * Copies of that table, such as in other regions, which programs read while it cannot be reached.
   * See `ShardMapManager.publish`.
   */
  readonly controlCopies?: readonly TableGateway[];
  /** Where reference data are written, which every shard has a copy of; absent: there are none. */
  readonly home?: ShardPlace;
  /** Where each shard is. Those that are not registered are not used. */
  readonly shards: Readonly<Record<string, ShardPlace>>;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly randomness?: Randomness;
}
