import { invariant } from '../../base/invariant.js';
import type { Store } from '../../kv/store.js';
import { transact } from '../../kv/transact.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import { containerIdKey } from './keys.js';

/** The size of a block of ids; unused ids of a block are lost. */
const blockSize = 100;

interface Block {
  next: number;
  readonly end: number;
}

/**
 * Assigns container ids of an account: 1, 2, 3, …, each only once across all processes. Processes
 * take blocks of ids from a stored counter, so that concurrent creations do not conflict on it.
 */
export class ContainerIds {
  readonly #store: Store;
  readonly #service: string;
  readonly #blocks = new Map<string, Block>();
  /**
   * The last id request of each account. Requests of an account run in order, so a block is fetched
   * once.
   */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(store: Store, service: string) {
    this.#store = store;
    this.#service = service;
  }

  next(account: string): Promise<number> {
    const take = () => this.#take(account);
    const turn = (this.#turns.get(account) ?? Promise.resolve()).then(take, take);
    this.#turns.set(account, turn);
    return turn;
  }

  async #take(account: string): Promise<number> {
    let block = this.#blocks.get(account);
    if (block === undefined || block.next === block.end) {
      block = await this.#reserve(account);
      this.#blocks.set(account, block);
    }
    block.next += 1;
    return block.next - 1;
  }

  async #reserve(account: string): Promise<Block> {
    const key = containerIdKey(this.#service, account);
    const { result } = await transact(this.#store, async (transaction) => {
      const stored = await transaction.get(key);
      const next = stored === undefined ? 1 : decodeTuple(stored.value)[0];
      invariant(typeof next === 'number', 'the counter of container ids is a number');
      transaction.put(key, encodeTuple([next + blockSize]));
      return next;
    });
    return { next: result, end: result + blockSize };
  }
}
