import { sleep } from '../../../base/async/sleep.js';
import { ModelError } from '../../rows/model-error.js';
import { putOver } from '../../table/conditional-write.js';
import { FollowedState, type FollowOptions } from '../../table/followed-state.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTransient } from '../../table/transient.js';
import { copyControlRow, forEachCopy, readReachable } from './control-copies.js';
import { mapKey, mapRow, mapStateOf } from './map-row.js';
import type { MapState } from './map-state.js';
import { MapCopyError } from './shard-errors.js';

/** A map and the ETag of its row. */
export interface ReadMap {
  readonly state: MapState;
  readonly etag: string;
}

export interface StoredMapOptions extends FollowOptions {
  readonly control: TableGateway;
  /** Copies of that table, which are read while it cannot be reached. */
  readonly copies: readonly TableGateway[];
}

/** The stored map. */
export class StoredMap extends FollowedState<MapState> {
  readonly name: string;
  readonly #options: StoredMapOptions;
  /** The latest map that was read or written. */
  #latest: MapState | undefined;
  /** What is used while the control table cannot be reached, until when. */
  #copied: { readonly state: MapState; readonly untilMs: number } | undefined;
  #copying: Promise<MapState> | undefined;
  /** When this program first knew that all copies have a version. */
  readonly #copiedAtMs = new Map<number, number>();

  constructor(name: string, options: StoredMapOptions) {
    super(options);
    this.name = name;
    this.#options = options;
  }

  /** One point read. Throws `ModelError` when there is no map. */
  async read(): Promise<ReadMap> {
    const found = await this.find();
    if (found !== undefined) return found;
    const { table } = this.#options.control;
    throw new ModelError(`there is no shard map '${this.name}' in ${table}; create it`);
  }

  /** One point read. */
  async find(): Promise<ReadMap | undefined> {
    let etag = '';
    const state = await this.noting(async () => {
      const row = await this.#options.control.get(mapKey(this.name));
      if (row === undefined) return undefined;
      ({ etag } = row);
      return mapStateOf(this.name, row);
    });
    if (state !== undefined) this.#note(state);
    return state && { state, etag };
  }

  /**
   * One insert, or one update under the ETag that was read, and the requests of `copy`. A copy that
   * cannot be reached stops no change: `settle` waits for it.
   */
  async write(state: MapState, etag: string | undefined): Promise<MapState> {
    await this.noting(async () => {
      await this.#options.control.write(putOver(mapRow(this.name, state), etag));
      return state;
    });
    this.#note(state);
    await this.copy().catch((error: unknown) => {
      if (!(error instanceof MapCopyError)) throw error;
    });
    return state;
  }

  /**
   * As it was at most `refreshMs` ago; and while the control table cannot be reached as the first
   * of the copies has it that can be, for `refreshMs`.
   */
  override known(): Promise<MapState> {
    return this.#orByCopies(() => super.known());
  }

  /** As of this call, and while the control table cannot be reached as `known`: for reads alone. */
  current(): Promise<MapState> {
    return this.#orByCopies(() => this.fresh());
  }

  /**
   * Brings the copies up to date. Two point reads of each, and a write. Throws `MapCopyError` for
   * those that cannot be reached, after the others.
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

  /** Also waits until `settleMs` have passed since all copies have the version. */
  override async settle(state: MapState): Promise<void> {
    await super.settle(state);
    const { copies, settleMs, timers } = this.#options;
    if (copies.length === 0) return;
    await this.copy();
    const nowMs = this.#nowMs();
    const leftMs = (this.#copiedAtMs.get(state.version) ?? nowMs) + settleMs - nowMs;
    if (leftMs > 0) await sleep(timers, leftMs);
  }

  protected override async load(): Promise<MapState> {
    const { state } = await this.read();
    return state;
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
    const row = await readReachable(copies, (copy) => copy.get(mapKey(this.name)));
    if (row === undefined) {
      const text = `the map '${this.name}' cannot be reached, and its copies lack it; copy it there`;
      throw new ModelError(text, { cause });
    }
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
