import type { ManualClock } from '../../src/base/clock.js';
import { StorageError } from '../../src/model/errors/storage-error.js';
import type { QueueHousekeeping, QueueOperations } from '../support/queue-operations.js';
import type { SimRandom } from '../support/sim-random.js';
import { RaceLog, type Presented, type Span } from './queue-race-log.js';

export const raceAccount = 'acct';
export const raceQueue = 'contended';
const receiptsMax = 40;

/** What one worker of several does, and with what. */
export interface Racing {
  /** Services over one store; each operation uses a random one. */
  readonly services: readonly (QueueOperations & QueueHousekeeping)[];
  readonly clock: ManualClock;
  readonly random: SimRandom;
  /** The maximum deviation of a service's clock. */
  readonly skewMicros: number;
  /** How often each operation is drawn. Default: `standardWeights`. */
  readonly weights?: typeof standardWeights;
  /** The longest time for which a message that was got is hidden. Default: 20. */
  readonly visibilitySecondsMax?: number;
  /** How many of the messages expire. Default: 0.2. */
  readonly expiringShare?: number;
}

export interface Race extends Racing {
  readonly workers: number;
  readonly operationsPerWorker: number;
}

export const standardWeights = {
  put: 30,
  get: 40,
  delete: 25,
  update: 20,
  peek: 5,
  count: 3,
  reclaim: 2,
  advance: 12,
};

/**
 * Workers that concurrently put, get, delete and update messages of one queue, with receipts of
 * their own and of others, some stale, while the clock is advanced.
 */
export async function race(settings: Race): Promise<RaceLog> {
  const log = new RaceLog();
  const receipts: Presented[] = [];
  const workers = Array.from({ length: settings.workers }, async () => {
    const worker = new RaceWorker(settings, log, receipts);
    for (let left = settings.operationsPerWorker; left > 0; left -= 1) await worker.step();
  });
  await Promise.all(workers);
  return log;
}

/** Uses one queue, one operation after the other, and notes what it is told. */
export class RaceWorker {
  readonly #race: Racing;
  readonly #log: RaceLog;
  /** Known receipts, the latest first; all workers share them. */
  readonly #receipts: Presented[];

  constructor(settings: Racing, log: RaceLog, receipts: Presented[]) {
    this.#race = settings;
    this.#log = log;
    this.#receipts = receipts;
  }

  /** Throws what the service throws, unless it refuses a receipt. */
  async step(): Promise<void> {
    const { random, clock, services, weights = standardWeights } = this.#race;
    const service = random.pick(services);
    switch (random.weighted(weights)) {
      case 'put':
        return this.#put(service);
      case 'get':
        return this.#get(service);
      case 'delete':
        return this.#delete(service);
      case 'update':
        return this.#update(service);
      case 'peek':
        await service.peekMessages(raceAccount, raceQueue, random.between(1, 32));
        return;
      case 'count':
        await service.getQueue(raceAccount, raceQueue);
        return;
      case 'reclaim':
        await service.reclaim({ entriesMax: random.between(1, 20) });
        return;
      case 'advance':
        clock.advanceMicros(random.int(4_000_000));
    }
  }

  async #put(service: QueueOperations): Promise<void> {
    const { random, expiringShare = 0.2 } = this.#race;
    const message = {
      text: `t${random.int(1000)}`,
      visibilitySeconds: random.chance(0.7) ? 0 : random.int(5),
      timeToLiveSeconds: random.chance(1 - expiringShare) ? Infinity : random.between(5, 30),
    };
    const { id, popReceipt, expiresMicros, nextVisibleMicros } = await service.putMessage(
      raceAccount,
      raceQueue,
      message,
    );
    this.#log.put({ id, popReceipt, expiresMicros, nextVisibleMicros });
    this.#remember({ id, popReceipt });
  }

  async #get(service: QueueOperations): Promise<void> {
    const { random, visibilitySecondsMax = 20 } = this.#race;
    const options = {
      count: random.pick([1, 1, 2, 5, 32]),
      visibilitySeconds: random.between(1, visibilitySecondsMax),
    };
    const begun = this.#begin();
    const messages = await service.getMessages(raceAccount, raceQueue, options);
    const span = this.#end(begun);
    for (const { id, popReceipt, dequeueCount, nextVisibleMicros } of messages) {
      this.#log.delivered({ id, popReceipt, dequeueCount, nextVisibleMicros, span });
      this.#remember({ id, popReceipt });
    }
  }

  async #delete(service: QueueOperations): Promise<void> {
    const held = this.#someReceipt();
    if (held === undefined) return;
    const begun = this.#begin();
    const done = await unlessGone(service.deleteMessage(raceAccount, raceQueue, held));
    const span = this.#end(begun);
    if (done === undefined) this.#log.refused({ ...held, span });
    else this.#log.deleted({ ...held, span });
  }

  async #update(service: QueueOperations): Promise<void> {
    const { random } = this.#race;
    const held = this.#someReceipt();
    if (held === undefined) return;
    const change = { ...held, visibilitySeconds: random.pick([0, 0, 1, 3, 10]) };
    const begun = this.#begin();
    const done = await unlessGone(service.updateMessage(raceAccount, raceQueue, change));
    const span = this.#end(begun);
    if (done === undefined) return this.#log.refused({ ...held, span });
    if (done === 'too late') return this.#log.tooLate({ ...held, ...change, span });
    this.#log.updated({ ...held, renewal: done.value, span });
    this.#remember({ id: held.id, popReceipt: done.value.popReceipt });
  }

  /** No service clock is earlier than the start of a span, or later than its end. */
  #begin(): Pick<Span, 'startTick' | 'startMicros'> {
    const { clock, skewMicros } = this.#race;
    return { startTick: this.#log.tick(), startMicros: clock.nowMicros() - skewMicros };
  }

  #end(begun: Pick<Span, 'startTick' | 'startMicros'>): Span {
    const { clock, skewMicros } = this.#race;
    return { ...begun, endTick: this.#log.tick(), endMicros: clock.nowMicros() + skewMicros };
  }

  #remember(held: Presented): void {
    this.#receipts.unshift(held);
    if (this.#receipts.length > receiptsMax) this.#receipts.pop();
  }

  /** Mostly one of the latest, so that several workers use the same at once. */
  #someReceipt(): Presented | undefined {
    const { random } = this.#race;
    if (this.#receipts.length === 0) return undefined;
    return random.chance(0.7)
      ? random.pick(this.#receipts.slice(0, 6))
      : random.pick(this.#receipts);
  }
}

/** undefined when the receipt was refused as stale. */
async function unlessGone<T>(
  operation: Promise<T>,
): Promise<{ readonly value: T } | 'too late' | undefined> {
  try {
    return { value: await operation };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === 'MessageNotFound') return undefined;
    if (error.code === 'InvalidQueryParameterValue') return 'too late';
    throw error;
  }
}
