import { Slice, yieldIfBusy } from '../../base/async/slice.js';
import { unboundedMemory, type MemoryBudget } from '../../base/async/memory-budget.js';
import { compareBytes, type Bytes } from '../../base/bytes.js';
import type { Entry } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import { namedTags, queryFinds, type TagQuery } from '../../model/blobs/tag-expression.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import { committedOf, recordOf } from './blob-state.js';
import { BlobKeys } from './keys.js';
import { drivingTag, hintsOf, readTagHint, tagHintGraceMicros } from './tag-hints.js';
import type {
  ContainerAddress,
  FindOptions,
  FindPosition,
  FoundBlob,
  FoundBlobs,
} from './types.js';

type Context = Pick<BlobContext, 'store' | 'clock' | 'containers'>;

/** Candidates that are read at once. */
const candidatesPerRead = 256;
const hintBytesPerRead = 1 << 20;
/** Containers of an account that are looked up at once. */
const containersPerRead = 100;
/** The time after which a page ends, with what was found. */
const searchMsMax = 5_000;
/** Names and tags of what was found. */
const foundBytesMax = 4 << 20;

/**
 * Find Blobs by Tags (blob-service §6.6): the blobs of a container for which the query holds, by
 * the value of the tag that is compared first (of an equality, if there is one), and by name. What
 * is found has these tags when it is looked at, and whatever had them all the time is found.
 * `query`: compares at least one tag. Throws `ContainerNotFound`.
 */
export async function findInContainer(
  context: Context,
  { account, container }: ContainerAddress,
  query: TagQuery,
  options: FindOptions,
  memory: MemoryBudget = unboundedMemory,
): Promise<FoundBlobs> {
  await yieldIfBusy(context.clock);
  const prefix = await context.containers.prefixOf(account, container);
  if (prefix === undefined) throw new StorageError('ContainerNotFound');
  const search = new Search(context, query, options, memory);
  await search.container(container, prefix);
  return search.result();
}

/** The same in all containers of an account, in the order of their names. */
export async function findInAccount(
  context: Context,
  account: string,
  query: TagQuery,
  options: FindOptions,
  memory: MemoryBudget = unboundedMemory,
): Promise<FoundBlobs> {
  await yieldIfBusy(context.clock);
  const search = new Search(context, query, options, memory);
  let from: string | undefined = query.container ?? options.from?.container;
  do {
    const page = await context.containers.list(account, {
      limit: query.container === undefined ? containersPerRead : 1,
      ...(from === undefined ? {} : { from }),
    });
    for (const { name } of page.records) {
      if (query.container !== undefined && name !== query.container) return search.result();
      const prefix = await context.containers.prefixOf(account, name);
      if (prefix !== undefined) await search.container(name, prefix);
      if (search.isComplete) return search.result();
    }
    from = query.container === undefined ? page.next : undefined;
  } while (from !== undefined);
  return search.result();
}

/** One page of results, built container by container. */
class Search {
  readonly #context: Context;
  readonly #query: TagQuery;
  readonly #tag: string;
  readonly #options: FindOptions;
  readonly #memory: MemoryBudget;
  readonly #slice: Slice;
  readonly #beganMs: number;
  readonly #found: FoundBlob[] = [];
  #bytes = 0;
  #next: FindPosition | undefined;

  constructor(context: Context, query: TagQuery, options: FindOptions, memory: MemoryBudget) {
    this.#context = context;
    this.#query = query;
    this.#tag = drivingTag(query.comparisons);
    this.#options = options;
    this.#memory = memory;
    this.#slice = new Slice(context.clock);
    this.#beganMs = context.clock.monotonicMs();
  }

  get isComplete(): boolean {
    return this.#next !== undefined;
  }

  result(): FoundBlobs {
    return { blobs: this.#found, ...(this.#next !== undefined && { next: this.#next }) };
  }

  async container(name: string, prefix: Bytes): Promise<void> {
    const { store } = this.#context;
    const { from } = this.#options;
    const position = from?.container === name ? from : undefined;
    const { start, ...rest } = hintsOf(prefix, this.#tag, this.#query.comparisons, position);
    for (let at = start; rest.end === undefined || compareBytes(at, rest.end) < 0;) {
      await this.#slice.endOnTime();
      const limits = { limit: candidatesPerRead, bytesMax: hintBytesPerRead };
      const { entries, more } = await store.range({ start: at, ...rest }, limits);
      await this.#look(name, prefix, entries);
      const last = entries.at(-1);
      if (this.isComplete || !more || last === undefined) return;
      at = keyAfter(last.key);
    }
  }

  async #look(container: string, prefix: Bytes, hints: readonly Entry[]): Promise<void> {
    const { store, clock } = this.#context;
    const isTimeUp = (): boolean => clock.monotonicMs() - this.#beganMs >= searchMsMax;
    const named = hints.map(({ key }) => readTagHint(key, prefix));
    const records = await store.getMany(named.map(({ name }) => new BlobKeys(prefix, name).base));
    const stale: Entry[] = [];
    for (const [index, hint] of hints.entries()) {
      const { value, name } = named[index] ?? readTagHint(hint.key, prefix);
      const record = committedOf(recordOf(records[index]));
      const isTrue = record?.tags.some(([tag, is]) => tag === this.#tag && is === value);
      if (record === undefined || isTrue !== true) stale.push(hint);
      else if (record.deleted === undefined && queryFinds(this.#query, container, record.tags)) {
        if (this.#isFull || (this.#found.length > 0 && isTimeUp())) {
          this.#next = { container, value, name };
          break;
        }
        this.#add({ name, container, tags: namedTags(this.#query, record.tags) });
      }
    }
    this.#memory.hold(this.#bytes);
    await this.#forget(stale);
    const last = named.at(-1);
    // What was found is in the page; a position that was looked at already is looked at again.
    if (this.#next === undefined && last !== undefined && isTimeUp()) {
      this.#next = { container, value: last.value, name: `${last.name}\0` };
    }
  }

  get #isFull(): boolean {
    return this.#found.length >= this.#options.limit || this.#bytes >= foundBytesMax;
  }

  #add(found: FoundBlob): void {
    this.#found.push(found);
    this.#bytes += 2 * found.name.length;
    for (const [tag, value] of found.tags) this.#bytes += 2 * (tag.length + value.length);
  }

  /** Deletes hints that no blob justifies, unless a blob may be about to. */
  async #forget(hints: readonly Entry[]): Promise<void> {
    const { store, clock } = this.#context;
    const oldest = clock.nowMicros() - tagHintGraceMicros;
    for (const { key, version } of hints) {
      if (version > oldest) continue;
      // Whoever gives the tag anew has put the hint anew.
      await store.commit({ checks: [{ key, version }], puts: [], deletes: [key] });
    }
  }
}
