import { systemClock, type Clock } from '../../../base/clock.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import type { Row } from '../../rows/row.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import { isAmbiguous, TransactionFailedError } from '../../table/errors.js';
import type { RowWrite, TableGateway, WriteResult } from '../../table/gateway.js';
import { envelopeOf, type MessageType } from '../../worker/message-type.js';
import type { SendingQueue } from '../../worker/queue-port.js';
import { sendMessage } from '../../worker/send.js';
import { OutboxHintMessage } from './hint.js';
import { outboxRow } from './outbox-row.js';
import type { OutboxRegistry } from './registry.js';
import { SharedRuns } from '../../../base/async/shared-runs.js';

/** The options of an outbox. */
export interface OutboxOptions {
  /** The table of the changes; their messages are rows of it. */
  readonly table: TableGateway;
  readonly registry: OutboxRegistry;
  /**
   * The queue that notifies relays at once. When it is absent, or a hint is lost, a message waits
   * for the next sweep.
   */
  readonly hints?: SendingQueue;
  /**
   * Called for hints that could not be put. The change is stored, and a sweep will find its
   * message.
   */
  readonly onHintFailed?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly randomness?: Randomness;
}

/** Registered partitions that an outbox remembers. */
const rememberedMax = 10_000;

/** A message that is not stored yet. Its write belongs into the transaction of the change. */
export interface OutboxMessage {
  /** The id of the intent, the same in every delivery. */
  readonly id: string;
  /** An insert. Store it with `Outbox.transact`, which registers its partition first. */
  readonly write: RowWrite & { readonly row: Row };
}

/**
 * Announces changes in the transaction that makes them: the message is a row that the same entity
 * group transaction inserts. Either both are stored or neither, so no change is unannounced, and no
 * announcement is without its change. A `Relay` dispatches the messages, at least once each.
 */
export class Outbox {
  readonly table: TableGateway;
  readonly #options: OutboxOptions;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #hints = new SharedRuns();
  readonly #registered = new Set<string>();
  #lastTicks = 0n;

  constructor(options: OutboxOptions) {
    this.table = options.table;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#randomness = options.randomness ?? systemRandomness;
  }

  /**
   * A message for a transaction of this partition. Sends nothing. Throws `ValueError` for a payload
   * that its type refuses, and `MessageTooLargeError` beyond 32,768 UTF-16 code units.
   */
  async message<Given, Read>(
    partitionKey: string,
    message: MessageType<Given, Read>,
    payload: Given,
    { id = this.#randomness.uuid() }: { readonly id?: string } = {},
  ): Promise<OutboxMessage> {
    const envelope = await envelopeOf(message, payload, id);
    const random = Buffer.from(this.#randomness.bytes(8)).toString('hex');
    const row = outboxRow(partitionKey, envelope, { ticks: this.#nextTicks(), random });
    return { id, write: { kind: 'insert', row } };
  }

  /**
   * One entity group transaction of the writes and the messages, in this order; before it one
   * insert into the registry when this outbox uses the partition for the first time; after it one
   * put of a hint, which changes of the partition that end during another such put share. Writes
   * and messages are at most 100, of one partition. Returns the results of `writes`.
   *
   * Writes that the table itself can refuse are refused before the partition is registered; a
   * refusal of the service leaves it registered, which costs sweeps a read.
   *
   * When it throws a refusal, nothing was stored and nothing announced, with the exception below; a
   * failure of the network leaves that open. When a refusal may be that of the client's repetition
   * of a transaction that was applied, one point read of the first message shows whether it was;
   * the ETags are then unknown, and when the read fails, its error is thrown. The exception: a
   * relay that has dispatched the message before that read has deleted its row, and the refusal is
   * thrown though the transaction was applied. Only the rows of the caller show the outcome.
   */
  async transact(
    writes: readonly RowWrite[],
    messages: readonly OutboxMessage[],
  ): Promise<readonly WriteResult[]> {
    const [first] = messages;
    if (first === undefined) return this.table.transact(writes);
    const { partitionKey } = first.write.row;
    const all = [...writes, ...messages.map(({ write }) => write)];
    await this.#register(partitionKey, all);
    let results: readonly WriteResult[];
    try {
      results = await this.table.transact(all);
    } catch (error) {
      if (!(await this.#wasApplied(error, first))) throw error;
      results = all.map(() => ({ etag: undefined }));
    }
    await this.#hint(partitionKey);
    return results.slice(0, writes.length);
  }

  /** Writes that the table itself refuses do not register the partition. */
  async #register(partitionKey: string, writes: readonly RowWrite[]): Promise<void> {
    if (this.#registered.has(partitionKey)) return;
    await this.table.check?.(writes);
    await this.#options.registry.register(partitionKey);
    if (this.#registered.size >= rememberedMax) this.#registered.clear();
    this.#registered.add(partitionKey);
  }

  /**
   * No other transaction uses its key, so its row shows that this one was applied. No row shows
   * nothing: it was not, or a relay was faster.
   */
  async #wasApplied(error: unknown, { write }: OutboxMessage): Promise<boolean> {
    if (!isAmbiguous(error) && !(error instanceof TransactionFailedError)) return false;
    try {
      return (await this.table.get(write.row, [])) !== undefined;
    } catch (unknown) {
      // A conflict means that nothing was stored, and would be retried. Here the outcome is
      // unknown, and a sweep finds a stored message.
      if (isAmbiguous(error)) return false;
      throw unknown;
    }
  }

  async #hint(partitionKey: string): Promise<void> {
    const { hints, onHintFailed } = this.#options;
    if (hints === undefined) return;
    const { table } = this.table;
    const randomness = this.#randomness;
    await this.#hints.run(partitionKey, undefined, async () => {
      try {
        await sendMessage(hints, OutboxHintMessage, { table, partitionKey }, { randomness });
      } catch (error) {
        onHintFailed?.(error);
      }
    });
  }

  /**
   * Later messages of one outbox have later keys, even within a tick and when the clock steps back.
   */
  #nextTicks(): bigint {
    const now = ticksOfMicros(this.#clock.nowMicros());
    this.#lastTicks = now > this.#lastTicks ? now : this.#lastTicks + 1n;
    return this.#lastTicks;
  }
}

/** The outbox of a table. Sends nothing. */
export function outboxOf(options: OutboxOptions): Outbox {
  return new Outbox(options);
}
