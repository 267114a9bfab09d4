import { isConflict, retryConflicts } from '../../table/contention.js';
import type { StoredRow } from '../../rows/row.js';
import type { ChangeFeed } from './change-feed.js';
import { countOf, countProperties, groupKey, headKey, type FeedEvent } from './feed-row.js';

/** The options of `ConsumerGroup.consume`. */
export interface ConsumeOptions {
  readonly signal?: AbortSignal;
  /** Events read at once, and handled before the checkpoint is stored. Default 100. */
  readonly limit?: number;
  /** Where a group without a checkpoint begins. Default `start`: the oldest kept event. */
  readonly from?: 'start' | 'end';
}

/**
 * One of several readers of a feed, such as a search index or a mailer, each of which sees every
 * event. The group's checkpoint is stored in the partition of the feed, so after a crash it resumes
 * where it was, on any machine.
 *
 * Every event is handled at least once, in order. Several consumers of one group repeat each
 * other's work, and skip nothing.
 */
export class ConsumerGroup {
  readonly feed: ChangeFeed;
  readonly name: string;

  constructor(feed: ChangeFeed, name: string) {
    this.feed = feed;
    this.name = name;
  }

  /**
   * Handles the events that the group has not handled yet, up to the end of the partition's feed.
   * Sends one point read of the checkpoint; when a group begins, a write, and another point read of
   * the head where it begins at the `end`; then for each page of events one range read, the
   * requests of `run`, and one write of the checkpoint. Returns the number of events handled.
   *
   * When `run` rejects, the checkpoint is stored before its event, and `consume` rejects with the
   * same error. Throws `FeedTrimmedError` when the group was away for longer than events are kept.
   */
  async consume(
    partitionKey: string,
    run: (event: FeedEvent) => Promise<void>,
    options: ConsumeOptions = {},
  ): Promise<number> {
    const { signal = new AbortController().signal, limit = 100 } = options;
    let handled = 0;
    let checkpoint = await this.#checkpoint(partitionKey, options);
    for (let hasMore = true; hasMore && !signal.aborted;) {
      const { cursor } = checkpoint;
      const query = cursor === undefined ? { limit } : { limit, cursor };
      const page = await this.feed.read(partitionKey, query);
      const ran = await runInOrder(page.events, run, signal);
      const last = page.events[ran.count - 1];
      if (last !== undefined) {
        checkpoint = await this.#store(partitionKey, checkpoint.etag, last.sequence);
      }
      handled += ran.count;
      if (ran.failure !== undefined) throw ran.failure.error;
      ({ hasMore } = page);
    }
    return handled;
  }

  /** The position of the group: one point read. Undefined when it has handled nothing. */
  async cursor(partitionKey: string): Promise<string | undefined> {
    const row = await this.feed.table.get(groupKey(partitionKey, this.name));
    return row === undefined ? undefined : this.#cursorOf(partitionKey, row);
  }

  /**
   * Ends the group in this partition: one delete. Events that it has not handled may then be
   * deleted.
   */
  async forget(partitionKey: string): Promise<void> {
    const key = groupKey(partitionKey, this.name);
    try {
      await this.feed.table.write({ kind: 'delete', key, etag: '*' });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  async #checkpoint(partitionKey: string, { from = 'start' }: ConsumeOptions): Promise<Checkpoint> {
    const { table } = this.feed;
    const row = await table.get(groupKey(partitionKey, this.name));
    if (row !== undefined) return { cursor: this.#cursorOf(partitionKey, row), etag: row.etag };
    // Stored before anything is handled: the end of the feed moves, and a group without a
    // checkpoint does not protect events from deletion.
    const done = from === 'start' ? 0n : countOf(await table.get(headKey(partitionKey)), 'Last');
    return this.#store(partitionKey, undefined, done);
  }

  /** When another consumer of the group stored its checkpoint meanwhile, the later one stays. */
  async #store(
    partitionKey: string,
    etag: string | undefined,
    sequence: bigint,
  ): Promise<Checkpoint> {
    const { table } = this.feed;
    const key = groupKey(partitionKey, this.name);
    const row = { ...key, properties: countProperties('Done', sequence) };
    let known = etag;
    const store = async (): Promise<Checkpoint> => {
      const stored = await table.write(
        known === undefined ? { kind: 'insert', row } : { kind: 'replace', row, etag: known },
      );
      return { cursor: this.#cursorAt(partitionKey, sequence), etag: stored.etag };
    };
    const storeOrRead = async (): Promise<Checkpoint> => {
      try {
        return await store();
      } catch (error) {
        if (!isConflict(error)) throw error;
        const found = await table.get(key);
        known = found?.etag;
        if (found === undefined || countOf(found, 'Done') < sequence) throw error;
        return { cursor: this.#cursorOf(partitionKey, found), etag: found.etag };
      }
    };
    return retryConflicts(`the checkpoint of '${this.name}'`, {}, storeOrRead);
  }

  #cursorOf(partitionKey: string, row: StoredRow): string | undefined {
    return this.#cursorAt(partitionKey, countOf(row, 'Done'));
  }

  /** A group that has handled nothing begins with the oldest kept event, whatever its number. */
  #cursorAt(partitionKey: string, done: bigint): string | undefined {
    return done === 0n ? undefined : this.feed.cursorAt(partitionKey, done);
  }
}

interface Checkpoint {
  readonly cursor: string | undefined;
  readonly etag: string | undefined;
}

/** Returns how many events were handled, and the error that stopped it. */
async function runInOrder(
  events: readonly FeedEvent[],
  run: (event: FeedEvent) => Promise<void>,
  signal: AbortSignal,
): Promise<{ readonly count: number; readonly failure?: { readonly error: unknown } }> {
  let count = 0;
  for (const event of events) {
    if (signal.aborted) break;
    try {
      await run(event);
    } catch (error) {
      return { count, failure: { error } };
    }
    count += 1;
  }
  return { count };
}

/** A consumer group of a change feed. Sends nothing. */
export function consumerGroupOf(feed: ChangeFeed, name: string): ConsumerGroup {
  return new ConsumerGroup(feed, name);
}
