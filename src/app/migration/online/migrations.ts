import type { Clock } from '../../../base/clock.js';
import { endsWithin } from '../../../base/async/deadline.js';
import type { Timers } from '../../../base/async/timers.js';
import { invariant } from '../../../base/invariant.js';
import { messageOf } from '../../../base/thrown.js';
import type { ContentStore } from '../../../content/content-store.js';
import {
  MigrationRefusal,
  type MigrationControl,
  type MigrationGoal,
  type MigrationInfo,
} from '../../../http/control/migration.js';
import type { Logger } from '../../../http/exchange/logger.js';
import type { Store } from '../../../kv/store.js';
import {
  assertApart,
  shownLocation,
  type DataLocation,
  type MigrationStore,
} from '../data-location.js';
import {
  MigrationCancelledError,
  OnlineMigration,
  type OnlineListener,
} from './online-migration.js';
import { WatchedStore } from '../../moves/watched-store.js';

export interface MigrationsOptions {
  readonly store: Store;
  readonly content: Pick<ContentStore, 'retain'>;
  /** The data directory; undefined: the data are not in one. */
  readonly location: string | undefined;
  /** Opens the data of the target; makes the location where it is absent. */
  readonly openTarget: (location: DataLocation) => Promise<MigrationStore>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Called when the data have moved. */
  readonly onMoved: () => void;
}

interface Run {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Migrations of a server that serves, one at a time. */
export class Migrations implements MigrationControl {
  readonly #options: MigrationsOptions;
  #info: MigrationInfo | undefined;
  #run: Run | undefined;
  #isBeginning = false;
  #isClosed = false;

  constructor(options: MigrationsOptions) {
    this.#options = options;
  }

  get info(): MigrationInfo | undefined {
    return this.#info;
  }

  async begin(goal: MigrationGoal): Promise<MigrationInfo> {
    const { store, location } = this.#options;
    if (!(store instanceof WatchedStore) || location === undefined) {
      throw new MigrationRefusal(
        'The data of this server cannot move while it serves: that needs a data directory of its ' +
          'own with a journal, no stores beside it, and one process. Stop it, and run tabularium ' +
          'migrate --from … --to ….',
      );
    }
    const to = shownLocation(goal);
    const { info } = this;
    if (info?.state === 'done') throw new MigrationRefusal(`The data are in ${info.to} already.`);
    if (info?.state === 'running' && info.to === to) return info;
    if (info?.state === 'running' || this.#isBeginning) {
      throw new MigrationRefusal(`A migration to ${info?.to ?? 'a location'} runs already.`);
    }
    this.#isBeginning = true;
    try {
      assertApart({ location }, goal);
      const target = await this.#options.openTarget(goal);
      if (this.#isClosed) {
        await target.close();
        throw new MigrationRefusal('The server ends.');
      }
      // The target directory exists now, so its real path can be shown.
      this.#info = { state: 'running', to: shownLocation(goal), phase: 'beginning', done: 0 };
      this.#start({ store, location, goal, target });
      return this.#info;
    } catch (error) {
      throw new MigrationRefusal(messageOf(error), { cause: error });
    } finally {
      this.#isBeginning = false;
    }
  }

  async cancel(): Promise<boolean> {
    if (this.#info?.state !== 'running') return false;
    this.#run?.stop.abort();
    await this.#run?.ended;
    return this.info?.state === 'cancelled';
  }

  /**
   * Cancels a running migration and waits for its end for at most `limitMs`, because a target that
   * does not answer may hold it up. It is cut off then, as by the death of the process, and what it
   * does later fails when the store is closed. To be called before that.
   */
  async close(limitMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#run === undefined) return;
    this.#run.stop.abort();
    const { timers, logger } = this.#options;
    if (await endsWithin(this.#run.ended, { limitMs, timers })) return;
    const { to } = this.#current;
    logger.warn('the migration has not ended: the stop goes on without it', { to });
  }

  /** `#info` is that of the new one. */
  #start(on: {
    readonly store: WatchedStore;
    readonly location: string;
    readonly goal: MigrationGoal;
    readonly target: MigrationStore;
  }): void {
    const { content, clock, timers, logger } = this.#options;
    const { store: source, location, goal: to, target } = on;
    const stop = new AbortController();
    const { signal } = stop;
    const listener = this.#listener();
    const from = { location };
    logger.info('all data begin to move', { to: shownLocation(to) });
    const parts = { source, content, from, to, target, clock, timers, listener, signal };
    const ended = this.#carryOut(new OnlineMigration(parts), target);
    this.#run = { stop, ended };
  }

  /** Never rejects. */
  async #carryOut(migration: OnlineMigration, target: MigrationStore): Promise<void> {
    const { logger, onMoved } = this.#options;
    try {
      const { pauseMs } = await migration.run();
      const { to } = this.#change({ state: 'done', pauseMs });
      logger.warn('all data have moved: this server answers 503 from now on', { to, pauseMs });
      onMoved();
    } catch (error) {
      const isCancelled = error instanceof MigrationCancelledError;
      this.#change({ state: isCancelled ? 'cancelled' : 'failed', problem: messageOf(error) });
      if (isCancelled) logger.info('the migration was called off');
      else logger.error('the migration failed', { error });
    } finally {
      await target.close().catch((error: unknown) => {
        logger.warn('the target of the migration could not be closed', { error });
      });
    }
  }

  #listener(): OnlineListener {
    const { logger } = this.#options;
    return {
      begin: (phase, total) => {
        const { state, to } = this.#current;
        this.#info = { state, to, phase, done: 0, ...(total !== undefined && { total }) };
      },
      progress: (bytes) => this.#change({ done: this.#current.done + bytes }),
      trouble: (error) => {
        logger.warn('a step of the migration has trouble', { error });
        this.#change({ problem: messageOf(error) });
      },
    };
  }

  get #current(): MigrationInfo {
    invariant(this.#info !== undefined, 'a migration was begun');
    return this.#info;
  }

  #change(change: Partial<MigrationInfo>): MigrationInfo {
    this.#info = { ...this.#current, ...change };
    return this.#info;
  }
}
