import { deferred } from '../../../base/async/deferred.js';
import { Gate } from '../../../base/async/gate.js';
import { rowKeyOf } from '../../definition/stored-entity.js';
import { compareKeys } from '../../rows/text-order.js';
import { DeadlinePassedError, type QueryDeadline } from './query-deadline.js';

/** The rows of one shard, in key order. */
export interface ShardSource<E> {
  readonly shard: string;
  readonly rows: AsyncGenerator<E, void, undefined>;
}

interface Tagged<E> {
  readonly shard: string;
  readonly entity: E;
}

interface MergeOptions {
  readonly deadline: QueryDeadline;
  /** Throws when the query ends with the failure of a shard. */
  readonly onFailure: (shard: string, error: unknown) => void;
  /** Shards that are asked at a time. */
  readonly parallel: number;
}

/** The answer of a shard. */
type Answer<E> =
  | { readonly kind: 'row'; readonly source: ShardSource<E>; readonly entity: E }
  | { readonly kind: 'end'; readonly source: ShardSource<E> }
  | { readonly kind: 'failed'; readonly source: ShardSource<E>; readonly error: unknown };

async function nextOf<E>(source: ShardSource<E>): Promise<Answer<E>> {
  try {
    const { done, value } = await source.rows.next();
    return done === true ? { kind: 'end', source } : { kind: 'row', source, entity: value };
  } catch (error) {
    return { kind: 'failed', source, error };
  }
}

/** Ends the remaining reads, without waiting for requests that are under way. */
function abandon<E>(sources: Iterable<ShardSource<E>>): void {
  for (const { rows } of sources) rows.return().catch(() => undefined);
}

/**
 * Rows of `parallel` shards at a time, in order of arrival. An answer waits in a list of its own
 * until it is taken, so that a slow shard costs nothing while others are read.
 */
export async function* rowsAsTheyCome<E>(
  sources: readonly ShardSource<E>[],
  { deadline, onFailure, parallel }: MergeOptions,
): AsyncGenerator<Tagged<E>, void, undefined> {
  const waiting = [...sources];
  const reading = new Set<ShardSource<E>>();
  const answers: Answer<E>[] = [];
  let awaited = deferred();
  const answered = async (source: ShardSource<E>): Promise<void> => {
    answers.push(await nextOf(source));
    awaited.resolve();
  };
  const ask = (source: ShardSource<E> | undefined): void => {
    if (source === undefined) return;
    reading.add(source);
    void answered(source);
  };
  try {
    for (const source of waiting.splice(0, parallel)) ask(source);
    while (reading.size > 0) {
      if (answers.length === 0 || deadline.isPast) {
        awaited = deferred();
        await deadline.wait(awaited.promise);
      }
      const answer = answers.shift();
      if (answer === undefined) continue;
      const { source } = answer;
      if (answer.kind === 'row') {
        yield { shard: source.shard, entity: answer.entity };
        ask(source);
        continue;
      }
      reading.delete(source);
      if (answer.kind === 'failed') onFailure(source.shard, answer.error);
      ask(waiting.shift());
    }
  } catch (error) {
    if (!(error instanceof DeadlinePassedError)) throw error;
    for (const { shard } of [...reading, ...waiting]) onFailure(shard, error);
  } finally {
    abandon(reading);
  }
}

/**
 * Rows of all shards in the order of their keys. A page of every shard is held. At the deadline the
 * shards that have not answered fail; of the others what has been read is given.
 */
export async function* rowsInKeyOrder<E extends object>(
  sources: readonly ShardSource<E>[],
  { deadline, onFailure, parallel }: MergeOptions,
): AsyncGenerator<Tagged<E>, void, undefined> {
  const heads = new Map<ShardSource<E>, E>();
  const reading = new Set(sources);
  const gate = new Gate(parallel);
  const ask = async (source: ShardSource<E>): Promise<void> => {
    const answer = await gate.run(() => nextOf(source));
    // One that failed at the deadline is not heard any more.
    if (!reading.has(source)) return;
    if (answer.kind === 'row') heads.set(source, answer.entity);
    else reading.delete(source);
    if (answer.kind === 'failed') onFailure(source.shard, answer.error);
  };
  const askAll = async (lacking: readonly ShardSource<E>[]): Promise<void> => {
    const answers = Promise.all(lacking.map(ask));
    try {
      // No page is asked for after the deadline, so what has been read comes without waiting.
      await (deadline.isPast ? answers : deadline.wait(answers));
    } catch (error) {
      if (!(error instanceof DeadlinePassedError)) throw error;
      for (const source of lacking) {
        if (heads.has(source) || !reading.delete(source)) continue;
        onFailure(source.shard, error);
      }
    }
  };
  try {
    while (reading.size > 0) {
      await askAll([...reading].filter((source) => !heads.has(source)));
      const least = leastOf(heads);
      if (least === undefined) continue;
      const [source, entity] = least;
      heads.delete(source);
      yield { shard: source.shard, entity };
    }
  } finally {
    abandon(sources);
  }
}

function leastOf<E extends object>(
  heads: ReadonlyMap<ShardSource<E>, E>,
): readonly [ShardSource<E>, E] | undefined {
  let least: readonly [ShardSource<E>, E] | undefined;
  for (const head of heads) {
    if (least === undefined || compareKeys(rowKeyOf(head[1]), rowKeyOf(least[1])) < 0) least = head;
  }
  return least;
}
