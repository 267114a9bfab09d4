import assert from 'node:assert/strict';
import type { Clock, ManualClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import type { Randomness } from '../../src/base/randomness.js';
import type { Bytes } from '../../src/base/bytes.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import type { Store } from '../../src/kv/store.js';
import { StorageError } from '../../src/model/errors/storage-error.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { RaceLog, type Presented } from '../sim/queue-race-log.js';
import { raceAccount, raceQueue, RaceWorker, standardWeights } from '../sim/queue-races.js';
import type { SimRandom } from '../support/sim-random.js';
import { LostAnswerError } from './sim-store.js';

/** Workers do not move the clock of the run, and `reclaim` waits for turns of the real process. */
const weights = { ...standardWeights, put: 20, delete: 30, reclaim: 0, advance: 0 };
/** Longer than clocks differ, so that a message which is shown too early is noticed. */
const visibilitySecondsMax = 60;
const hourMicros = 3_600_000_000;

/** The partition of the queue that clients share: the first queue has this number. */
export const queuePrefix: Bytes = partitionPrefix('queue', raceAccount, 1, '');

export interface QueueClientsOptions {
  readonly clock: ManualClock;
  /** How much later than this clock that of a service may be. */
  readonly skewMicros: number;
}

/** Clients of one queue, each with the queue service of its front end, and what they were told. */
export class QueueClients {
  readonly #options: QueueClientsOptions;
  readonly #log = new RaceLog();
  readonly #receipts: Presented[] = [];
  readonly #left = new Set<string>();
  #counted = 0;

  constructor(options: QueueClientsOptions) {
    this.#options = options;
  }

  /** Puts, gets, updates and deletes messages. Nothing was done by what a store refuses. */
  async run(service: QueueService, random: SimRandom, operations: number): Promise<void> {
    const racing = { ...this.#options, services: [service], random };
    const drawn = { weights, visibilitySecondsMax, expiringShare: 0 };
    const worker = new RaceWorker({ ...racing, ...drawn }, this.#log, this.#receipts);
    for (let left = operations; left > 0; left -= 1) {
      await unlessRefused(() => worker.step());
    }
  }

  /** Gets all messages that are left, when all of them are visible again. */
  async drain(service: QueueService): Promise<void> {
    const { clock, skewMicros } = this.#options;
    clock.advanceMicros(hourMicros);
    this.#counted = (await service.getQueue(raceAccount, raceQueue)).approximateMessageCount;
    const options = { count: 32, visibilitySeconds: 24 * 3_600 };
    for (;;) {
      const [startTick, startMicros] = [this.#log.tick(), clock.nowMicros() - skewMicros];
      const messages = await unlessRefused(() =>
        service.getMessages(raceAccount, raceQueue, options),
      );
      if (messages === undefined) continue;
      const endMicros = clock.nowMicros() + skewMicros;
      const span = { startTick, startMicros, endTick: this.#log.tick(), endMicros };
      for (const message of messages) {
        this.#log.delivered({ ...message, span });
        this.#left.add(message.id);
      }
      if (messages.length === 0) return;
    }
  }

  /** Throws when a message was lost, was got twice, or was shown when it was hidden. */
  check(): void {
    const { violations, survivors } = this.#log.explain();
    assert.deepEqual(violations, []);
    assert.deepEqual(new Set(survivors.map(({ id }) => id)), this.#left, 'messages that are left');
    assert.equal(this.#counted, this.#left.size, 'the number of messages');
  }

  get deliveries(): number {
    return this.#log.totals().deliveries;
  }
}

/** Undefined when a store or the service has refused the operation, so that nothing was done. */
async function unlessRefused<Result>(
  operation: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await operation();
  } catch (error) {
    const isBusy = error instanceof StorageError && error.code === 'ServerBusy';
    if (isBusy || error instanceof StoreUnavailableError) return undefined;
    throw error;
  }
}

/** The queue service of a front end. */
export function queueServiceOf(
  store: Store,
  parts: { readonly clock: Clock; readonly randomness: Randomness },
): QueueService {
  const { clock, randomness } = parts;
  const known = withPartitionRule(knowingOutcomes(store));
  return new QueueService({ store: known, clock: forwardClock(clock), randomness });
}

/** Whoever lost the answer of a commit is told what came of it, as the oracle has to know. */
function knowingOutcomes(store: Store): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    async commit(batch) {
      try {
        return await store.commit(batch);
      } catch (error) {
        if (!(error instanceof LostAnswerError)) throw error;
        if (error.result === undefined) throw new StoreUnavailableError('It was not applied.');
        return error.result;
      }
    },
    close: () => store.close(),
  };
}
