import { endsWithin, within } from '../base/async/deadline.js';
import type { Timers } from '../base/async/timers.js';
import { StoreClosedError, StoreUnavailableError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';
import type { RangeSample, SampleOptions } from '../kv/sample.js';
import type { KeyRange, Store } from '../kv/store.js';
import { Catalogue } from './catalogue.js';
import { memberKey } from './keys.js';
import type { Members } from './members.js';

/** A store that does not answer one read within this time counts as away, in milliseconds. */
const answersWithinMs = 2_000;
/** A longer call of a store is waited for no longer than this time, in milliseconds. */
const finishesWithinMs = 10_000;

/** A store that is asked. */
export interface Asked {
  /** Its name. Absent: one of the stores of a key space, and nobody knows which. */
  readonly store?: string;
  readonly timers: Timers;
  /** The call writes, or reads many keys. */
  readonly isLong?: boolean;
}

/**
 * Awaits the answer of a store. Rejects with `StoreUnavailableError` when the store is silent for
 * `answersWithinMs`, for example because its disk hangs; a long call, for `finishesWithinMs`. The
 * call may be carried out later all the same. `progress`: as in `within`.
 */
export function answered<Answer>(
  answer: Promise<Answer>,
  { store, timers, isLong = false, progress }: Asked & { readonly progress?: () => number },
): Promise<Answer> {
  const limitMs = isLong ? finishesWithinMs : answersWithinMs;
  const late = () =>
    new StoreUnavailableError(
      `${store === undefined ? 'A store' : `The store '${store}'`} has been silent for ` +
        `${limitMs / 1_000} seconds.`,
    );
  return within(answer, { limitMs, timers, late, ...(progress && { progress }) });
}

/** The calls of a store that bring entries to it, and compare it. */
export type FilledStore = Pick<MemberStore, 'get' | 'getMany' | 'ingest' | 'range'>;

/** A store; each of its calls rejects as `answered` says when the store is silent. */
export function answeringStore(store: FilledStore, asked: Asked): FilledStore {
  return {
    get: (key, options) => answered(store.get(key, options), asked),
    getMany: (keys, options) => answered(store.getMany(keys, options), asked),
    range: (range, options) => answered(store.range(range, options), asked),
    ingest: (ingestion) => answered(store.ingest(ingestion), asked),
  };
}

/** The calls of the home store that read and write the catalogue, and the loads beside it. */
export type AnsweringHome = Pick<MemberStore, 'get' | 'range' | 'commit'>;

/** The home store; its calls reject as `answered` says when it is silent. */
export function answeringHome({ home, homeName }: Members, timers: Timers): AnsweringHome {
  const asked = { store: homeName, timers };
  const askedLong = { ...asked, isLong: true };
  return {
    get: (key) => answered(home.get(key), asked),
    range: (range, options) => answered(home.range(range, options), askedLong),
    commit: (batch) => answered(home.commit(batch), askedLong),
  };
}

/** The catalogue; its calls reject as `answered` says when the home store is silent. */
export function answeringCatalogue(members: Members, timers: Timers): Catalogue {
  return new Catalogue(answeringHome(members, timers));
}

/** A composed store; its reads reject as `answered` says when one of its stores is silent. */
export function answeringReads(store: Store, timers: Timers): Store {
  const asked = { timers, isLong: true };
  return {
    get: (key) => answered(store.get(key), asked),
    getMany: (keys) => answered(store.getMany(keys), asked),
    range: (range, options) => answered(store.range(range, options), asked),
    commit: (batch) => store.commit(batch),
    close: () => store.close(),
  };
}

/**
 * Takes a sample of a store, which may read all keys of the range. Rejects as `answered` says when
 * the store is silent.
 */
export function answeredSample(
  store: Pick<MemberStore, 'sample'>,
  { range, cuts, ...options }: SampleOptions & { readonly range: KeyRange; readonly cuts: number },
  asked: Asked,
): Promise<RangeSample> {
  let calls = 0;
  const onKeys = (keys: number): void => {
    calls += 1;
    options.onKeys?.(keys);
  };
  const sample = store.sample(range, cuts, { ...options, onKeys });
  return answered(sample, { ...asked, isLong: true, progress: () => calls });
}

/**
 * The names of the stores that are away: those that do not answer the read of one key, or that
 * report trouble. Rejects with `StoreClosedError` when a store was closed, because the process is
 * ending then.
 */
export async function awayStores(members: Members, timers: Timers): Promise<ReadonlySet<string>> {
  const { names } = members;
  const found = await Promise.all(names.map((name) => doesAnswer(members.named(name), timers)));
  return new Set(names.filter((_, index) => found[index] === false));
}

async function doesAnswer(store: MemberStore, timers: Timers): Promise<boolean> {
  if (store.trouble?.() !== undefined) return false;
  try {
    return await endsWithin(store.get(memberKey), { limitMs: answersWithinMs, timers });
  } catch (error) {
    if (error instanceof StoreClosedError) throw error;
    return false;
  }
}
