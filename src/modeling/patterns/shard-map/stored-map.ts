import { sleep } from '../../../base/async/sleep.js';
import { ModelError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTransient } from '../../table/transient.js';
import { FollowedState, type FollowOptions, type ReadState } from '../moves/followed-state.js';
import { copyControlRow, forEachCopy, readCopies } from './control-copies.js';
import { mapKey, mapRow, mapStateOf } from './map-row.js';
import type { MapState } from './map-state.js';
import { MapCopyError } from './shard-errors.js';

export interface StoredMapOptions extends FollowOptions {
  readonly control: TableGateway;
  /** Copies of that table, which are read while it cannot be reached. */
  readonly copies: readonly TableGateway[];
}

/** The stored map. */
export class StoredMap extends FollowedState<MapState> {
  readonly #options: StoredMapOptions;
  /** The latest map that was read or written. */
  #latest: MapState | undefined;
  /** The state of a copy for use while the control table cannot be reached, and its expiry. */
  #copied: { readonly state: MapState; readonly untilMs: number } | undefined;
  #copying: Promise<MapState> | undefined;
  /** When this program first knew that all copies have a version. */
  readonly #copiedAtMs = new Map<number, number>();

  /** Reads throw `ModelError` when there is no map. */
  constructor(name: string, options: StoredMapOptions) {
    const { control: table } = options;
    super(
      {
        table,
        key: mapKey(name),
        kind: 'map',
        name,
        rowOf: (state) => mapRow(name, state),
        stateOf: (row) => mapStateOf(name, row),
        initial: () => {
          throw new ModelError(`there is no shard map '${name}' in ${table.table}; create it`);
        },
      },
      options,
    );
    this.#options = options;
  }

  override async find(): Promise<ReadState<MapState> | undefined> {
    const found = await super.find();
    if (found !== undefined) this.#note(found.state);
    return found;
  }

  /**
   * One insert, or one update under the ETag that was read, and the requests of `copy`. A copy that
   * cannot be reached stops no change: `settle` waits for it.
   */
  override async write(state: MapState, before: string | undefined): Promise<ReadState<MapState>> {
    const written = await super.write(state, before);
    this.#note(state);
    await this.copy().catch((error: unknown) => {
      if (!(error instanceof MapCopyError)) throw error;
    });
    return written;
  }

  /**
   * The state of the map, at most `refreshMs` old. While the control table cannot be reached, the
   * first copy that can be reached is read instead, and its state is kept for `refreshMs`.
   */
  override known(): Promise<MapState> {
    return this.#orByCopies(() => super.known());
  }

  /**
   * The state of the map as of this call. While the control table cannot be reached, the state of a
   * copy, as for `known`. For reads only.
   */
  current(): Promise<MapState> {
    return this.#orByCopies(() => this.fresh());
  }

  /**
   * Brings the copies up to date. Two point reads and a write for each copy. When some cannot be
   * reached, updates the others and then throws `MapCopyError`.
   */
  async copy(): Promise<void> {
    const { control, copies, timers } = this.#options;
    if (copies.length === 0) return;
    const version = this.#latest?.version ?? 0;
    await forEachCopy(copies, async (copy) => {
      await copyControlRow(control, copy, mapKey(this.name), { timers });
    });
    if (!this.#copiedAtMs.has(version)) this.#copiedAtMs.set(version, this.#nowMs());
  }

  /** Also waits until all copies have had the version for `settleMs`. */
  override async settle(state: MapState): Promise<void> {
    await super.settle(state);
    const { copies, settleMs, timers } = this.#options;
    if (copies.length === 0) return;
    await this.copy();
    const nowMs = this.#nowMs();
    const leftMs = (this.#copiedAtMs.get(state.version) ?? nowMs) + settleMs - nowMs;
    if (leftMs > 0) await sleep(timers, leftMs);
  }

  async #orByCopies(read: () => Promise<MapState>): Promise<MapState> {
    const copied = this.#copied;
    if (copied !== undefined && this.#nowMs() < copied.untilMs) return copied.state;
    try {
      return await read();
    } catch (error) {
      const { copies } = this.#options;
      if (copies.length === 0 || !isTransient(error)) throw error;
      this.#copying ??= this.#readCopies(copies, error).finally(() => (this.#copying = undefined));
      return this.#copying;
    }
  }

  async #readCopies(copies: readonly TableGateway[], cause: unknown): Promise<MapState> {
    const row = await readCopies(copies, (copy) => copy.get(mapKey(this.name)));
    if (row === undefined) throw cause;
    const found = mapStateOf(this.name, row);
    const latest = this.#latest;
    const state = latest !== undefined && latest.version > found.version ? latest : found;
    this.#copied = { state, untilMs: this.#nowMs() + this.#options.refreshMs };
    return state;
  }

  #note(state: MapState): void {
    if ((this.#latest?.version ?? 0) < state.version) this.#latest = state;
    this.#copied = undefined;
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
