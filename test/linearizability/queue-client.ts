import { WireRefusal } from '../support/queue-operations.js';
import type { SimRandom } from '../support/sim-random.js';
import type { WireQueues } from '../support/wire-queues.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import type { QueueInput, QueueOutput } from './queue-model.js';

/** Longer than any history. */
const holdSeconds = 3600;

/** What a client received with a message, and needs to use it. */
export interface Told {
  readonly serial: number;
  readonly id: string;
  readonly receipt: string;
}

/** Sends requests to one queue over one connection. `told`: messages that its clients share. */
export class HistoryQueueClient {
  readonly #queues: WireQueues;
  readonly #queue: string;
  readonly #told: Told[];

  constructor(queues: WireQueues, queue: string, told: Told[]) {
    this.#queues = queues;
    this.#queue = queue;
    this.#told = told;
  }

  /** Some of the drawn receipts are stale by now. */
  draw(random: SimRandom, nextSerial: () => number): QueueInput {
    const kind = random.weighted({ put: 4, get: 6, release: 3, delete: 3 });
    if (kind === 'put') return { kind, serial: nextSerial() };
    if (kind === 'get' || this.#told.length === 0) return { kind: 'get', alone: false };
    const { serial, receipt } = random.pick(this.#told.slice(-6));
    return { kind, serial, receipt };
  }

  /** Rejects when no complete response arrives, or one that a correct server does not give. */
  async ask(input: QueueInput): Promise<QueueOutput> {
    try {
      return await this.#ask(input);
    } catch (error) {
      if (error instanceof WireRefusal && error.code === 'MessageNotFound') {
        return { kind: 'refused' };
      }
      throw error;
    }
  }

  async #ask(input: QueueInput): Promise<QueueOutput> {
    if (input.kind === 'put') return this.#put(input.serial);
    if (input.kind === 'get') return this.#get();
    const { serial, receipt } = input;
    const held = { id: this.#idOf(serial), popReceipt: receipt };
    if (input.kind === 'delete') {
      await this.#queues.deleteMessage(account, this.#queue, held);
      return { kind: 'done' };
    }
    const change = { ...held, visibilitySeconds: 0 };
    const { popReceipt } = await this.#queues.updateMessage(account, this.#queue, change);
    return this.#note({ serial, id: held.id, receipt: popReceipt }, 0);
  }

  async #put(serial: number): Promise<QueueOutput> {
    const { id, popReceipt } = await this.#queues.putMessage(account, this.#queue, {
      text: String(serial),
      visibilitySeconds: 0,
      timeToLiveSeconds: Infinity,
    });
    return this.#note({ serial, id, receipt: popReceipt }, 0);
  }

  async #get(): Promise<QueueOutput> {
    const [message] = await this.#queues.getMessages(account, this.#queue, {
      count: 1,
      visibilitySeconds: holdSeconds,
    });
    if (message === undefined) return { kind: 'done' };
    const { id, popReceipt, text, dequeueCount } = message;
    return this.#note({ serial: Number(text), id, receipt: popReceipt }, dequeueCount);
  }

  #note(told: Told, count: number): QueueOutput {
    this.#told.push(told);
    return { kind: 'held', serial: told.serial, receipt: told.receipt, count };
  }

  #idOf(serial: number): string {
    return this.#told.find((told) => told.serial === serial)?.id ?? '';
  }
}
