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
  /** What it is, when it is not of the key space. */
  readonly what?: string;
  readonly timers: Timers;
  /** The call writes, or reads many keys. */
  readonly isLong?: boolean;
  /** The call writes. */
  readonly writes?: boolean;
}

/**
 * A store has not answered in time. Unlike after other errors of this kind, a call that writes may
 * be carried out later all the same.
 */
export class SilentStoreError extends StoreUnavailableError {
  /** The store that was asked. */
  readonly store: string | undefined;
  /** Whether the call writes. */
  readonly writes: boolean;
  /** The answer, if it comes after all. */
  readonly late: Promise<unknown>;
  /** Whether the message says what happens all the same. */
  readonly isTold: boolean;

  constructor(
    message: string,
    call: Pick<SilentStoreError, 'store' | 'writes' | 'late'> & { readonly isTold?: boolean },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.store = call.store;
    this.writes = call.writes;
    this.late = call.late;
    this.isTold = call.isTold ?? false;
  }

  /** The same error; its message goes on with what happens all the same. */
  saying(text: string): SilentStoreError {
    const { store, writes, late, message } = this;
    const told = { store, writes, late, isTold: true };
    return new SilentStoreError(`${message} ${text}`, told, { cause: this });
  }
}

/**
 * Awaits the answer of a store. Rejects with `SilentStoreError` when the store is silent for
 * `answersWithinMs`, for example because its disk hangs; a long call, for `finishesWithinMs`.
 * `progress`: as in `within`.
 */
export function answered<Answer>(
  answer: Promise<Answer>,
  asked: Asked & { readonly progress?: () => number },
): Promise<Answer> {
  const { store, timers, isLong = false, writes = false, progress } = asked;
  const limitMs = isLong ? finishesWithinMs : answersWithinMs;
  const late = () =>
    new SilentStoreError(`${nameOf(asked)} has been silent for ${limitMs / 1_000} seconds.`, {
      store,
      writes,
      late: answer,
    });
  return within(answer, { limitMs, timers, late, ...(progress && { progress }) });
}

function nameOf({ store, what = 'A store' }: Asked): string {
  return store === undefined ? what : `The store '${store}'`;
}

/** The calls of a store that bring entries to it, and compare it. */
export type FilledStore = Pick<MemberStore, 'get' | 'getMany' | 'ingest' | 'range'>;

/** A store; each of its calls rejects as `answered` says when the store is silent. */
export function answeringStore(store: FilledStore, asked: Asked): FilledStore {
  return {
    get: (key, options) => answered(store.get(key, options), asked),
    getMany: (keys, options) => answered(store.getMany(keys, options), asked),
    range: (range, options) => answered(store.range(range, options), asked),
    ingest: (ingestion) => answered(store.ingest(ingestion), { ...asked, writes: true }),
  };
}

/** A member; its calls reject as `answered` says when it is silent. */
export function answeringMember(
  { members, timers }: { readonly members: Members; readonly timers: Timers },
  name: string,
): AskedMember {
  return askedMember(members.named(name), { store: name, timers });
}

/** The calls of a store that has ranges, gets one, or gets a copy. */
export type AskedMember = Omit<MemberStore, 'close' | 'trouble'>;

/**
 * A store; its calls reject as `answered` says when it is silent, but for samples:
 * `answeredSample`.
 */
export function askedMember(store: AskedMember, asked: Asked): AskedMember {
  const long = { ...asked, isLong: true };
  const writing = { ...long, writes: true };
  return {
    get: (key, options) => answered(store.get(key, options), asked),
    getMany: (keys, options) => answered(store.getMany(keys, options), long),
    range: (range, options) => answered(store.range(range, options), long),
    commit: (batch) => answered(store.commit(batch), writing),
    fence: (batch) => answered(store.fence(batch), writing),
    ingest: (ingestion) => answered(store.ingest(ingestion), writing),
    sample: (range, cuts, options) => store.sample(range, cuts, options),
  };
}

/** The calls of the home store that read and write the catalogue, and the loads beside it. */
export type AnsweringHome = Pick<MemberStore, 'get' | 'range' | 'commit'>;

/** The home store; its calls reject as `answered` says when it is silent. */
export function answeringHome(members: Members, timers: Timers): AnsweringHome {
  return answeringMember({ members, timers }, members.homeName);
}

/** The catalogue; its calls reject as `answered` says when the home store is silent. */
export function answeringCatalogue(members: Members, timers: Timers): Catalogue {
  return new Catalogue(answeringHome(members, timers));
}

/** How errors name the store that has a backup. */
export const backupDirectory = 'The directory of the backup';

/**
 * A composed store; its reads reject as `answered` says when one of its stores is silent. `what`:
 * the text for a store that is none of these.
 */
export function answeringReads(store: Store, timers: Timers, what?: string): Store {
  const asked = { timers, isLong: true, ...(what !== undefined && { what }) };
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
