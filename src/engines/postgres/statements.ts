import { syncsCommits } from './durability.js';
import { longHeadBytesMax } from './long-keys.js';

/** A statement, with the name under which it is prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

const guardVersion = (key: string, hash: string) => `coalesce(
  (select version from tabularium.kv where key = ${key}),
  (select version from tabularium.kv_long where hash = ${hash}))`;

const get: Statement = {
  name: 'get',
  text: 'select version, value from tabularium.kv where key = $1',
};

const getLong: Statement = {
  name: 'get-long',
  text: 'select version, value from tabularium.kv_long where hash = $1',
};

/**
 * Reads short keys, and long ones by their hashes. Returns the position, version and value of each
 * that exists.
 */
const getMany: Statement = {
  name: 'get-many',
  text: `select k.place, kv.version, kv.value
    from unnest($1::bytea[]) with ordinality k(key, place)
    join tabularium.kv on kv.key = k.key
    union all
    select k.place, long.version, long.value
    from unnest($2::bytea[]) with ordinality k(hash, place)
    join tabularium.kv_long long on long.hash = k.hash`,
};

/** As `getMany`, without values. */
const versionsOf: Statement = {
  name: 'versions-of',
  text: `select k.place, kv.version
    from unnest($1::bytea[]) with ordinality k(key, place)
    join tabularium.kv on kv.key = k.key
    union all
    select k.place, long.version
    from unnest($2::bytea[]) with ordinality k(hash, place)
    join tabularium.kv_long long on long.hash = k.hash`,
};

/** As `getMany`, with one more row for the version of the guard: $3, or its hash $4. */
const getManyGuarded: Statement = {
  name: 'get-many-guarded',
  text: `${getMany.text} union all select 0, ${guardVersion('$3', '$4')}, null`,
};

/**
 * A chunk of a range: from $1 up to $2, at most $3 entries. The values beyond the first $4 bytes
 * are null. $5 and $6: the heads of the bounds.
 */
function rangeText(direction: 'asc' | 'desc'): string {
  const long = `(select key, version, value from tabularium.kv_long
      where head >= $5 and head <= $6 and key >= $1 and key < $2
      order by head ${direction}, key ${direction} limit $3::int)`;
  return `select key, version, case when before < $4::bigint then value end from (
    select key, version, value, coalesce(sum(octet_length(key) + octet_length(value)) over (
      order by key ${direction} rows between unbounded preceding and 1 preceding), 0) as before
    from (
      (select key, version, value from tabularium.kv where key >= $1 and key < $2
        order by key ${direction} limit $3::int)
      union all
      ${long}
    ) entries order by key ${direction} limit $3::int
  ) chunk order by key ${direction}`;
}

/** The first row has no key, and the version of the guard: $7, or its hash $8. */
function guardedText(direction: 'asc' | 'desc'): string {
  return `with chunk(key, version, value) as (${rangeText(direction)})
    select null::bytea, ${guardVersion('$7', '$8')}, null::bytea union all select * from chunk`;
}

const forward: Statement = { name: 'forward', text: rangeText('asc') };
const backward: Statement = { name: 'backward', text: rangeText('desc') };
const forwardGuarded: Statement = { name: 'forward-guarded', text: guardedText('asc') };
const backwardGuarded: Statement = { name: 'backward-guarded', text: guardedText('desc') };

// Where `:durable` does not hold, batches do nothing and return no row; see `statementsFor`. The
// database commits at the Sync message that follows the statement. So where `fsync` or
// `full_page_writes` is turned off while the function runs, only the next batch is refused.

const commitBatch: Statement = {
  name: 'commit',
  text: `select tabularium.commit_batch(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
    where :durable`,
};

const insertBatch: Statement = {
  name: 'insert',
  text: 'select tabularium.insert_batch($1, $2, $3, $4, $5, $6, $7, $8) where :durable',
};

const ingestBatch: Statement = {
  name: 'ingest',
  text: 'select tabularium.ingest_batch($1, $2, $3, $4, $5, $6, $7, $8, $9) where :durable',
};

// The plain statements of a batch: see `transaction-form.ts`.

/** Returns 1 where `:durable` holds, otherwise 0. */
const lockSession: Statement = {
  name: 'lock-session',
  text: `select case when :durable then 1 else 0 end::bigint from tabularium.kv_session
    where session = $1 and batch = $2::bigint - 1 and not closed for update`,
};

const lockSlots: Statement = {
  name: 'lock-slots',
  text: `select last from tabularium.kv_slot where slot = any($1::int4[]) order by slot for update`,
};

const lockAllSlots: Statement = {
  name: 'lock-all-slots',
  text: 'select last from tabularium.kv_slot order by slot for update',
};

const setSlots: Statement = {
  name: 'set-slots',
  text: 'update tabularium.kv_slot set last = $1 where slot = any($2::int4[])',
};

const setAllSlots: Statement = {
  name: 'set-all-slots',
  text: 'update tabularium.kv_slot set last = $1',
};

const raiseSlots: Statement = {
  name: 'raise-slots',
  text: 'update tabularium.kv_slot set last = $1 where last < $1',
};

const deleteKeys: Statement = {
  name: 'delete-keys',
  text: 'delete from tabularium.kv where key = any($1::bytea[])',
};

const deleteLongKeys: Statement = {
  name: 'delete-long-keys',
  text: 'delete from tabularium.kv_long where hash = any($1::bytea[])',
};

const putKeys: Statement = {
  name: 'put-keys',
  text: `insert into tabularium.kv (key, version, value)
    select p.key, p.version, p.value
    from unnest($1::bytea[], $2::bigint[], $3::bytea[]) p(key, version, value)
    order by p.key
    on conflict (key) do update set version = excluded.version, value = excluded.value`,
};

const putLongKeys: Statement = {
  name: 'put-long-keys',
  text: `insert into tabularium.kv_long (hash, head, key, version, value)
    select p.hash, substring(p.key from 1 for ${longHeadBytesMax}), p.key, p.version, p.value
    from unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[]) p(key, version, value, hash)
    order by p.key
    on conflict (hash) do update set version = excluded.version, value = excluded.value`,
};

const endBatch: Statement = {
  name: 'end-batch',
  text: `update tabularium.kv_session set batch = $2, outcome = $3, seen = now() where session = $1`,
};

const openSession: Statement = {
  name: 'open-session',
  text: `insert into tabularium.kv_session (session, batch, closed) values ($1, 0, false)`,
};

/** Closes a session, so that no further batch of it is applied. Waits for a batch under way. */
const closeSession: Statement = {
  name: 'close-session',
  text: `update tabularium.kv_session set closed = true, seen = now() where session = $1
    returning batch, outcome`,
};

/** The number of the last batch of each session that exists. */
const batchesOf: Statement = {
  name: 'batches-of',
  text: 'select session, batch from tabularium.kv_session where session = any($1::bigint[])',
};

const removeSession: Statement = {
  name: 'remove-session',
  text: 'delete from tabularium.kv_session where session = $1',
};

/**
 * Closes the sessions of dead processes after an hour. `removeOldSessions` deletes their rows two
 * days later.
 */
const closeOldSessions: Statement = {
  name: 'close-old-sessions',
  text: `with old as (
      select session from tabularium.kv_session
      where not closed and seen < now() - interval '1 hour' for update skip locked)
    update tabularium.kv_session set closed = true, seen = now()
      where session in (select session from old)`,
};

const removeOldSessions: Statement = {
  name: 'remove-old-sessions',
  text: `delete from tabularium.kv_session where closed and seen < now() - interval '2 days'`,
};

const lastVersion: Statement = {
  name: 'last-version',
  text: 'select max(last) from tabularium.kv_slot',
};

/**
 * Uses the clock of the primary, so that all servers write comparable times. Writes nothing when
 * another server has just written. A time in the future comes from a clock that was set back or
 * from a former primary. It is overwritten, because it would promise too much.
 */
const beat: Statement = {
  name: 'beat',
  text: `insert into tabularium.kv_meta (name, value)
    values ('heartbeat', (extract(epoch from clock_timestamp()) * 1000000)::bigint::text)
    on conflict (name) do update set value = excluded.value
      where abs(kv_meta.value::bigint - excluded.value::bigint) > 500000`,
};

const readHeartbeat: Statement = {
  name: 'read-heartbeat',
  text: `select value::bigint from tabularium.kv_meta where name = 'heartbeat'`,
};

const standard = {
  get,
  getLong,
  getMany,
  getManyGuarded,
  versionsOf,
  forward,
  backward,
  forwardGuarded,
  backwardGuarded,
  commitBatch,
  insertBatch,
  ingestBatch,
  lockSession,
  lockSlots,
  lockAllSlots,
  setSlots,
  setAllSlots,
  raiseSlots,
  deleteKeys,
  deleteLongKeys,
  putKeys,
  putLongKeys,
  endBatch,
  openSession,
  closeSession,
  batchesOf,
  removeSession,
  closeOldSessions,
  removeOldSessions,
  lastVersion,
  beat,
  readHeartbeat,
} as const satisfies Record<string, Statement>;

export type Statements = { readonly [Name in keyof typeof standard]: Statement };

/**
 * The statements on the tables of a schema. `isDurable`: statements of a batch check before the
 * commit that the database still syncs commits before it acknowledges them.
 */
export function statementsFor(schema: string, isDurable = false): Statements {
  const durable = isDurable ? syncsCommits : 'true';
  const entries = Object.entries(standard).map(([key, { name, text }]) => [
    key,
    { name, text: inSchema(text.replaceAll(':durable', `(${durable})`), schema) },
  ]);
  return Object.freeze(Object.fromEntries(entries)) as Statements;
}

/** Quotes a name, so that it is taken literally. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function inSchema(text: string, schema: string): string {
  return text.replaceAll(/\btabularium\./g, () => `${quoted(schema)}.`);
}
