import { nameOfBytes } from '../../base/bytes.js';
import type { ForwardClock } from '../../base/forward-clock.js';
import { lazyList } from '../../base/lazy-list.js';
import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { nextTurn } from '../../base/async/turns.js';
import type { Randomness } from '../../base/randomness.js';
import type { CommitBatch, Store } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { Containers } from '../containers/containers.js';
import { containerPrefix } from '../containers/keys.js';
import { checkMetadata, sameMetadata } from '../containers/metadata.js';
import { droppedContainersSweep } from '../containers/reclaim.js';
import { SweepCursor, type Reclaimed } from '../containers/sweep-cursor.js';
import { SweepTurns } from '../containers/sweep-turns.js';
import { dequeue, type DequeueContext } from './dequeue.js';
import { ExpirySchedule } from './expiry-schedule.js';
import { countExpired, countStored, deleteExpired } from './expiry.js';
import { MessageIds } from './message-id.js';
import { MessageKeys } from './message-keys.js';
import {
  deleteMessage,
  peekMessages,
  putMessage,
  updateMessage,
  type MessageContext,
} from './messages.js';
import { OpenQueues, type OpenQueue } from './open-queues.js';
import { checkQueueName } from './queue-name.js';
import { queueKind, type QueueRecord } from './queue-record.js';
import type {
  Dequeue,
  DequeuedMessage,
  HeldMessage,
  MessageChange,
  NewMessage,
  PeekedMessage,
  PutReceipt,
  QueuePage,
  QueueQuery,
  QueueStatus,
  Renewal,
} from './types.js';

/** Idle queues per read, before yielding to others. */
const queuesPerLook = 200;

export interface QueueServiceOptions {
  readonly store: Store;
  /**
   * Never steps back, so that messages are not hidden longer when the machine's clock is set back.
   */
  readonly clock: ForwardClock;
  readonly randomness: Randomness;
  /** Called when `reclaim` has something to delete: a queue was dropped or cleared. */
  readonly onGarbage?: () => void;
}

/**
 * Azure Queue storage over any store: no HTTP, no XML. Every method throws `StorageError` for a
 * request that fails. A change is durable when it resolves, and every read that begins afterwards
 * sees it. Several processes may share one store.
 *
 * Times are those of the clock: a message is visible from `nextVisibleMicros` until
 * `expiresMicros`, when it is gone (queue-service §9.1).
 */
export class QueueService {
  readonly #context: MessageContext & DequeueContext;
  readonly #queues: Containers<QueueRecord>;
  readonly #open: OpenQueues;
  readonly #schedule: ExpirySchedule;
  readonly #sweeps: SweepTurns;

  readonly #onGarbage: () => void;

  constructor({ store, clock, randomness, onGarbage = () => undefined }: QueueServiceOptions) {
    this.#context = { store, clock, randomness, ids: new MessageIds(clock, randomness) };
    this.#queues = new Containers(store, queueKind);
    this.#open = new OpenQueues(store, clock);
    this.#schedule = new ExpirySchedule(store);
    const dropped = droppedContainersSweep(store, clock, queueKind.service);
    const expired = new SweepCursor({
      all: () => this.#dueQueues(),
      nameOf: ({ count }) => nameOfBytes(count),
      clear: async (keys, entriesMax) => {
        const reclaimed = await deleteExpired(store, keys, clock.nowMicros(), entriesMax);
        if (!reclaimed.more) await this.#schedule.look(keys);
        return reclaimed;
      },
    });
    this.#sweeps = new SweepTurns([dropped, expired]);
    this.#onGarbage = onGarbage;
  }

  /**
   * `existed`: a queue with the same metadata exists and is unchanged. Throws `QueueAlreadyExists`
   * when its metadata differ.
   */
  async createQueue(
    account: string,
    name: string,
    metadata: Metadata,
  ): Promise<'created' | 'existed'> {
    checkQueueName(name);
    checkMetadata(metadata);
    const make = (id: number): QueueRecord => ({ id, name, metadata, identifiers: [] });
    const { created, record } = await this.#queues.create(account, name, make);
    if (created) return 'created';
    if (sameMetadata(record.metadata, metadata)) return 'existed';
    throw new StorageError('QueueAlreadyExists');
  }

  /** Atomic and independent of the number of messages; the name can be reused at once. */
  async deleteQueue(account: string, name: string): Promise<void> {
    if (!(await this.#queues.drop(account, name))) throw notFound(name);
    this.#onGarbage();
  }

  /** One page of queues in order of their names. */
  async listQueues(
    account: string,
    { prefix, from, limit }: QueueQuery,
    memory?: MemoryBudget,
  ): Promise<QueuePage> {
    const options = {
      limit,
      ...(prefix === undefined ? {} : { startsWith: prefix }),
      ...(from === undefined ? {} : { from }),
    };
    const { records, next } = await this.#queues.list(account, options, memory);
    const queues = lazyList(records, ({ name, metadata }) => ({ name, metadata }));
    return next === undefined ? { queues } : { queues, next };
  }

  async getQueue(account: string, name: string): Promise<QueueStatus> {
    const { store, clock } = this.#context;
    const { id, metadata } = await this.#record(account, name);
    const { keys } = this.#open.open(containerPrefix(queueKind.service, account, id));
    const stored = await countStored(store, keys);
    const expired = await countExpired(store, keys, clock.nowMicros());
    // Two separate reads; messages may be deleted between them.
    return { name, metadata, approximateMessageCount: Math.max(0, stored - expired) };
  }

  /** Replaces all metadata. */
  async setMetadata(account: string, name: string, metadata: Metadata): Promise<void> {
    checkMetadata(metadata);
    const change = (record: QueueRecord): QueueRecord => ({ ...record, metadata });
    await this.#change(account, name, change, { grows: true });
  }

  async getSignedIdentifiers(account: string, name: string): Promise<readonly SignedIdentifier[]> {
    return (await this.#record(account, name)).identifiers;
  }

  /** Replaces all identifiers. */
  async setSignedIdentifiers(
    account: string,
    name: string,
    identifiers: readonly SignedIdentifier[],
  ): Promise<void> {
    await this.#change(account, name, (record) => ({ ...record, identifiers }));
  }

  /** The stored policies that signatures for a queue may use; none when there is no queue. */
  async storedPolicies(account: string, name: string): Promise<readonly SignedIdentifier[]> {
    return (await this.#queues.find(account, name))?.identifiers ?? [];
  }

  async putMessage(account: string, queue: string, message: NewMessage): Promise<PutReceipt> {
    const { keys } = await this.#openQueue(account, queue);
    return putMessage(this.#context, keys, message);
  }

  /**
   * Takes up to `count` visible messages, oldest first. No other caller gets them until their
   * visibility timeout has passed or an update shows them earlier. Returns fewer while other
   * callers are taking the rest.
   */
  async getMessages(
    account: string,
    queue: string,
    options: Dequeue,
    memory?: MemoryBudget,
  ): Promise<readonly DequeuedMessage[]> {
    const opened = await this.#openQueue(account, queue);
    return dequeue(this.#context, opened, { ...options, memory });
  }

  /** Up to `count` visible messages, oldest first, without changing them. */
  async peekMessages(
    account: string,
    queue: string,
    count: number,
    memory?: MemoryBudget,
  ): Promise<readonly PeekedMessage[]> {
    const opened = await this.#openQueue(account, queue);
    return peekMessages(this.#context, opened, { count, memory });
  }

  async updateMessage(account: string, queue: string, change: MessageChange): Promise<Renewal> {
    const { keys } = await this.#openQueue(account, queue);
    return updateMessage(this.#context, keys, change);
  }

  async deleteMessage(account: string, queue: string, message: HeldMessage): Promise<void> {
    const { keys } = await this.#openQueue(account, queue);
    return deleteMessage(this.#context, keys, message);
  }

  /** Deletes all messages in one commit, whatever their number; also one that is just being put. */
  async clearMessages(account: string, queue: string): Promise<void> {
    const record = await this.#queues.replaceId(account, queue, (old, id) => ({ ...old, id }));
    if (record === undefined) throw notFound(queue);
    this.#onGarbage();
  }

  /**
   * One bounded step of freeing space: deletes expired messages and what is left of dropped and
   * cleared queues. A message is several entries. Safe to stop or repeat anywhere, in several
   * processes at once.
   */
  reclaim({ entriesMax }: { readonly entriesMax: number }): Promise<Reclaimed> {
    return this.#sweeps.step(entriesMax);
  }

  /** The queues in which a message may have expired. Idle ones are checked many at a time. */
  async *#dueQueues(): AsyncGenerator<MessageKeys> {
    let looked: MessageKeys[] = [];
    for await (const { account, id } of this.#queues.all()) {
      looked.push(new MessageKeys(containerPrefix(queueKind.service, account, id)));
      if (looked.length < queuesPerLook) continue;
      yield* await this.#schedule.due(looked, this.#context.clock.nowMicros());
      looked = [];
      await nextTurn();
    }
    yield* await this.#schedule.due(looked, this.#context.clock.nowMicros());
  }

  async #openQueue(account: string, name: string): Promise<OpenQueue> {
    const prefix = await this.#queues.prefixOf(account, name);
    if (prefix === undefined) throw notFound(name);
    return this.#open.open(prefix);
  }

  async #record(account: string, name: string): Promise<QueueRecord> {
    const record = await this.#queues.find(account, name);
    if (record === undefined) throw notFound(name);
    return record;
  }

  async #change(
    account: string,
    name: string,
    change: (record: QueueRecord) => QueueRecord,
    options?: Pick<CommitBatch, 'grows'>,
  ): Promise<void> {
    const changed = await this.#queues.update(account, name, change, options);
    if (changed === undefined) throw notFound(name);
  }
}

/** The error for a missing queue; for an illegal name, the error of the broken rule instead. */
function notFound(name: string): StorageError {
  checkQueueName(name);
  return new StorageError('QueueNotFound');
}
