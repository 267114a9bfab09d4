import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseError } from 'pg';
import { systemClock } from '../../base/clock.js';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import type { GuardedBatch } from '../../kv/guards.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { CommitForm } from './commit-form.js';
import { refusal, unavailable } from './failures.js';
import { GroupCommit } from './group-commit.js';

const count = 20;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');

/** What a session rejects with whose batch the database has ended each time. */
function ended(code: string): StoreUnavailableError {
  const cause = new DatabaseError('others go first', 0, 'error');
  cause.code = code;
  return unavailable(cause);
}

const lockTimeout = () => ended('55P03');
const lost = () => unavailable(new Error('Connection terminated unexpectedly'));

function nameOf(batch: GuardedBatch): string {
  return String(batch.puts[0]?.value);
}

/** Commits rows 0 to 19 at once. `failing` gives the error of a batch by its rows. */
async function committed(failing: (names: readonly string[]) => Error | undefined) {
  const batches: (readonly string[])[] = [];
  const form: CommitForm = {
    pipelines: false,
    commits: (given) => {
      batches.push(given.map(nameOf));
      return () => Promise.reject(new Error('no database is asked'));
    },
    ingestion: () => () => Promise.reject(new Error('nothing is ingested')),
  };
  const session = {
    apply: () => {
      const names = batches.at(-1) ?? [];
      const error = failing(names);
      if (error !== undefined) return Promise.reject(error);
      return Promise.resolve(
        names.map((_, at) => ({ kind: 'result', result: { ok: true, version: at + 1 } }) as const),
      );
    },
  };
  const commits = new GroupCommit({ sessions: [session], form, clock: systemClock });
  const rows = Array.from({ length: count }, (_, at) => String(at));
  const settled = await Promise.allSettled(
    rows.map((row) => {
      const puts = [{ key: Buffer.concat([prefix, Buffer.from(row)]), value: Buffer.from(row) }];
      return commits.carryOut({ kind: 'commit', batch: { checks: [], puts, deletes: [] } });
    }),
  );
  const errors = settled.map((each) => (each.status === 'rejected' ? each.reason : undefined));
  return { sizes: batches.map(({ length }) => length), errors };
}

describe('a group of commits that the database ends', () => {
  it('is tried commit by commit, and one that fails fails no other', async () => {
    const isBad = (names: readonly string[]) => names.includes('7');
    const { sizes, errors } = await committed((names) =>
      isBad(names) ? lockTimeout() : undefined,
    );
    assert.deepEqual(sizes, [count, ...errors.map(() => 1)]);
    for (const [at, error] of errors.entries()) {
      assert.equal(error instanceof StoreUnavailableError, at === 7);
    }
  });

  for (const code of ['40001', '40P01', '55P03']) {
    it(`is given up when three commits have failed alone (${code})`, async () => {
      const { sizes, errors } = await committed(() => ended(code));
      assert.deepEqual(sizes, [count, 1, 1, 1]);
      for (const error of errors) assert.ok(error instanceof StoreUnavailableError);
    });
  }

  it('is given up at once when the database is away meanwhile', async () => {
    const { sizes, errors } = await committed(({ length }) =>
      length > 1 ? lockTimeout() : lost(),
    );
    assert.deepEqual(sizes, [count, 1]);
    for (const error of errors) assert.match(String(error), /Connections to the database are lost/);
  });

  it('is tried to its end where the database refuses commits for what they are', async () => {
    const { sizes, errors } = await committed(() => refusal(new Error('no room')));
    assert.deepEqual(sizes, [count, ...errors.map(() => 1)]);
    for (const error of errors) assert.ok(error instanceof StoreWriteError);
  });
});
