import { WireRefusal } from '../support/queue-operations.js';
import type { SimRandom } from '../support/sim-random.js';
import { WireQueues } from '../support/wire-queues.js';
import type { QueueWireClient } from '../wire/kit/queue-client.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import { textOf, type Known, type QueueLedger } from './queue-ledger.js';
import { afterTrouble, FailedAnswer, throwFailure, type Troubles } from './unanswered.js';

export const crashQueue = 'crash';
/** Longer than the whole test. */
export const holdSeconds = 3600;
const momentSeconds = 1;
const forEver = Infinity;

export interface QueueLoad {
  readonly ledger: QueueLedger;
  readonly random: SimRandom;
  /** When set, the load ends after the requests in progress. */
  isOver: boolean;
  /** Responses that a correct server does not give. */
  readonly surprises: string[];
  /** `killed` by default. */
  readonly troubles?: Troubles;
}

/**
 * Runs the load on these connections and closes them; resolves when it has ended. The workers share
 * the messages that they hold.
 */
export async function runQueueLoad(
  load: QueueLoad,
  clients: readonly QueueWireClient[],
  held: readonly Known[],
): Promise<void> {
  await Promise.all(
    clients.map((client, worker) => {
      const own = held.filter((_, index) => index % clients.length === worker);
      return workOnCrashQueue(load, new WireQueues({ [account]: client }), own);
    }),
  );
  for (const client of clients) client.close();
}

/**
 * Puts, gets, updates and deletes on one connection until the load is over or, by default, the
 * server is gone. Only this worker may change the messages in `held`; the remaining ones are still
 * there afterwards.
 */
async function workOnCrashQueue(load: QueueLoad, queues: WireQueues, held: Known[]): Promise<void> {
  const worker = new Worker(load, queues, held);
  while (!load.isOver) {
    try {
      await worker.step();
    } catch (error) {
      if ((await afterTrouble(asTrouble(error, load), load)) === 'end') return;
    }
  }
}

/** Records a refusal as a surprise, unless it is a failure that counts as no response. */
function asTrouble(error: unknown, load: QueueLoad): unknown {
  if (!(error instanceof WireRefusal)) return error;
  try {
    throwFailure(error.status, load, error.message);
  } catch (failure) {
    return failure;
  }
  load.surprises.push(error.message);
  return new FailedAnswer(error.message);
}

class Worker {
  readonly #load: QueueLoad;
  readonly #queues: WireQueues;
  readonly #held: Known[];

  constructor(load: QueueLoad, queues: WireQueues, held: Known[]) {
    this.#load = load;
    this.#queues = queues;
    this.#held = held;
  }

  step(): Promise<void> {
    const kind = this.#load.random.weighted({ put: 10, get: 6, delete: 10, update: 6 });
    if (kind === 'put') return this.#put();
    if (kind === 'get' || this.#held.length === 0) return this.#get();
    return kind === 'delete' ? this.#delete() : this.#update();
  }

  async #put(): Promise<void> {
    const { ledger, random } = this.#load;
    const serial = ledger.nextSerial();
    const text = textOf(serial, padOf(random));
    const message = ledger.issuePut({ serial, text });
    const isDelayed = random.chance(0.1);
    if (isDelayed) message.hiddenUntilMs = Date.now() + holdSeconds * 1000;
    const put = await this.#queues.putMessage(account, crashQueue, {
      text,
      visibilitySeconds: isDelayed ? holdSeconds + 1 : 0,
      timeToLiveSeconds: forEver,
    });
    ledger.acknowledgePut(message, put);
    if (isDelayed) this.#held.push(message);
  }

  async #get(): Promise<void> {
    const { ledger, random } = this.#load;
    const count = random.pick([1, 2, 8, 32]);
    const forAMoment = random.chance(0.2);
    ledger.issueGet(count);
    const found = await this.#queues.getMessages(account, crashQueue, {
      count,
      visibilitySeconds: forAMoment ? momentSeconds : holdSeconds,
    });
    const messages = ledger.acknowledgeGet(count, found, 1000 * (forAMoment ? 0 : holdSeconds - 1));
    if (!forAMoment) this.#held.push(...messages);
    else for (const message of messages) ledger.letGo(message, Date.now() + momentSeconds * 1000);
  }

  async #delete(): Promise<void> {
    const message = this.#pull();
    message.presence = 'maybe';
    await this.#queues.deleteMessage(account, crashQueue, shown(message));
    message.presence = 'deleted';
    this.#load.ledger.acknowledged += 1;
  }

  /** Hides the message again, with the same text or another, or makes it visible. */
  async #update(): Promise<void> {
    const { ledger, random } = this.#load;
    const message = this.#pull();
    const held = shown(message);
    const isGivenBack = random.chance(0.5);
    const text = random.chance(0.5) ? textOf(message.serial, padOf(random)) : undefined;
    if (text !== undefined) message.texts.add(text);
    // Until the response arrives no receipt is known to work, and any client may get the message.
    message.receipt = undefined;
    if (isGivenBack) ledger.letGo(message, forEver);
    const { dequeueCount } = message;
    const { popReceipt } = await this.#queues.updateMessage(account, crashQueue, {
      ...held,
      visibilitySeconds: isGivenBack ? 0 : holdSeconds,
      ...(text === undefined ? {} : { text }),
    });
    ledger.acknowledged += 1;
    // Another client may have received it before this response arrived.
    if (message.dequeueCount !== dequeueCount) return;
    if (text !== undefined) replaceTexts(message, text);
    message.receipt = popReceipt;
    if (isGivenBack) ledger.letGo(message, 0);
    else this.#held.push(message);
  }

  #pull(): Known {
    const { random } = this.#load;
    const [message] = this.#held.splice(random.int(this.#held.length), 1);
    if (message === undefined) throw new Error('nothing is held');
    return message;
  }
}

function replaceTexts(message: Known, text: string): void {
  message.texts.clear();
  message.texts.add(text);
}

/** The id and receipt for an update or a deletion. */
export function shown({ id, receipt }: Known): {
  readonly id: string;
  readonly popReceipt: string;
} {
  if (id === undefined || receipt === undefined) throw new Error('nothing to present');
  return { id, popReceipt: receipt };
}

function padOf(random: SimRandom): string {
  const size = random.weighted({ none: 10, small: 20, medium: 8, large: 1 });
  const length = { none: 0, small: random.int(100), medium: random.int(4000), large: 20_000 }[size];
  return random.pick(['x', '-', '<']).repeat(length);
}
