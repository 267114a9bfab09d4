import { Slice, yieldIfBusy } from '../../base/async/slice.js';
import { unboundedMemory, type MemoryBudget } from '../../base/async/memory-budget.js';
import { compareBytes, type Bytes } from '../../base/bytes.js';
import { filteredEntries } from '../../kv/filtered-entries.js';
import type { Candidate, Decision, Entry } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import { namedTags, queryFinds, type TagQuery } from '../../model/blobs/tag-expression.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, peekBlobRecord, type BlobRecord } from './blob-record.js';
import { committedOf, recordOf } from './blob-state.js';
import { BlobKeys } from './keys.js';
import { drivingTag, hintsOf, readTagHint, tagHintGraceMicros, type TagHint } from './tag-hints.js';
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
/** Versions of a blob that are read at once. */
const versionsPerRead = 64;
/**
 * Versions that are read to learn whether one has the tag of a hint; a blob with more keeps its
 * hints.
 */
const versionsAskedMax = 1_000;
/** A position before all results of a container. */
const beforeAll = { value: '', name: '' } as const;
/** A position behind the versions of a blob. */
const behindVersions = Number.MAX_SAFE_INTEGER;
/** The time after which a page ends, with what was found. */
const searchMsMax = 5_000;
/** Names and tags of what was found. */
const foundBytesMax = 4 << 20;

/**
 * Find Blobs by Tags (blob-service §6.6): the blobs of a container for which the query holds, by
 * the value of the tag that is compared first (of an equality, if there is one), by name; the
 * versions of a blob come before it, the oldest first. A result has these tags when it is read, and
 * every blob that had them during the whole search is found. `query`: compares at least one tag.
 * Throws `ContainerNotFound`.
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
  #hasBegun = false;
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
    // Never before the first container, so that each page makes progress.
    if (this.#hasBegun && this.#isTimeUp) {
      this.#next = { container: name, ...beforeAll };
      return;
    }
    this.#hasBegun = true;
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
    const named = hints.map((hint) => ({ hint, ...readTagHint(hint.key, prefix) }));
    const records = await this.#context.store.getMany(
      named.map(({ name }) => new BlobKeys(prefix, name).base),
    );
    const stale: Entry[] = [];
    for (const [index, { hint, value, name }] of named.entries()) {
      const place = { container, value, name };
      if (this.#options.versions === true) await this.#lookAtVersions(prefix, place);
      if (this.isComplete) break;
      const record = committedOf(recordOf(records[index]));
      if (!this.#isTagged(record, value)) stale.push(hint);
      else if (queryFinds(this.#query, container, record.tags)) {
        if (this.#isEnough) {
          this.#next = { ...place, ...this.#fromBlob(record) };
          break;
        }
        this.#add(this.#foundBlob(place, record, true));
      }
    }
    this.#memory.hold(this.#bytes);
    await this.#forget(prefix, stale);
    const last = named.at(-1);
    // The page has everything up to the last hint, unless `#next` is set: the next page reads that
    // position again.
    if (this.#next === undefined && last !== undefined && this.#isTimeUp) {
      this.#next = { container, value: last.value, name: `${last.name}\0` };
    }
  }

  /** Looks at the former versions of a blob. */
  async #lookAtVersions(prefix: Bytes, place: FindPosition): Promise<void> {
    const keys = new BlobKeys(prefix, place.name);
    const range = { ...keys.versions(), ...this.#resumedVersion(keys, place) };
    await this.#slice.endOnTime();
    const limits = { limit: versionsPerRead, bytesMax: hintBytesPerRead, filter: takeVersion };
    for await (const entry of filteredEntries(this.#context.store, range, limits)) {
      const record = decodeBlobRecord(entry.value, entry.version);
      if (!this.#isTagged(record, place.value)) continue;
      if (!queryFinds(this.#query, place.container, record.tags)) continue;
      if (this.#isEnough) {
        this.#next = { ...place, fromMicros: keys.microsOf(entry.key) };
        return;
      }
      this.#add(this.#foundBlob(place, record, false));
    }
  }

  #resumedVersion(keys: BlobKeys, { container, value, name }: FindPosition): { start?: Bytes } {
    const { from } = this.#options;
    if (from?.fromMicros === undefined) return {};
    const isThere = from.container === container && from.value === value && from.name === name;
    return isThere ? { start: keys.version(from.fromMicros) } : {};
  }

  /** The position of a blob behind its versions; the blob may be one by the time it is read. */
  #fromBlob({ versionMicros = behindVersions }: BlobRecord): Pick<FindPosition, 'fromMicros'> {
    return this.#options.versions === true ? { fromMicros: versionMicros } : {};
  }

  #isTagged(record: BlobRecord | undefined, value: string): record is BlobRecord {
    return record?.tags.some(([tag, is]) => tag === this.#tag && is === value) === true;
  }

  #foundBlob(
    { container, name }: FindPosition,
    { tags, versionMicros }: BlobRecord,
    isCurrent: boolean,
  ): FoundBlob {
    const found = { name, container, tags: namedTags(this.#query, tags) };
    if (this.#options.versions !== true || versionMicros === undefined) return found;
    return { ...found, version: { micros: versionMicros, isCurrent } };
  }

  /** Whether the page ends before the next result. */
  get #isEnough(): boolean {
    return this.#isFull || (this.#found.length > 0 && this.#isTimeUp);
  }

  get #isTimeUp(): boolean {
    return this.#context.clock.monotonicMs() - this.#beganMs >= searchMsMax;
  }

  get #isFull(): boolean {
    return this.#found.length >= this.#options.limit || this.#bytes >= foundBytesMax;
  }

  #add(found: FoundBlob): void {
    this.#found.push(found);
    this.#bytes += 2 * found.name.length;
    for (const [tag, value] of found.tags) this.#bytes += 2 * (tag.length + value.length);
  }

  /** Deletes hints that neither a blob nor a version justifies, unless one may be about to. */
  async #forget(prefix: Bytes, hints: readonly Entry[]): Promise<void> {
    const { store, clock } = this.#context;
    const oldest = clock.nowMicros() - tagHintGraceMicros;
    for (const { key, value, version } of hints) {
      if (version > oldest) continue;
      await this.#slice.endOnTime();
      const isOfVersion = await this.#isOfVersion(prefix, readTagHint(key, prefix));
      // A write that sets the tag again puts the hint again. A hint that stays is not examined
      // again for a while.
      const change = isOfVersion
        ? { puts: [{ key, value }], deletes: [] }
        : { puts: [], deletes: [key] };
      await store.commit({ checks: [{ key, version }], ...change });
    }
  }

  /** Versions of a soft-deleted blob count, because it may be restored. */
  async #isOfVersion(prefix: Bytes, { value: tagged, name }: TagHint): Promise<boolean> {
    let asked = 0;
    const filter = ({ value, valueLength, version }: Candidate): Decision => {
      asked += 1;
      if (asked > versionsAskedMax) return 'stop';
      if (!peekBlobRecord(value).isVersion) return 'skip';
      const record = decodeBlobRecord(value.subarray(0, valueLength), version);
      return this.#isTagged(record, tagged) ? 'take' : 'skip';
    };
    const range = new BlobKeys(prefix, name).versions();
    const { entries } = await this.#context.store.range(range, { limit: 1, bytesMax: 0, filter });
    return entries.length > 0 || asked > versionsAskedMax;
  }
}

function takeVersion({ value }: Candidate): 'take' | 'skip' {
  const { isDeleted, isVersion } = peekBlobRecord(value);
  return isVersion && !isDeleted ? 'take' : 'skip';
}
