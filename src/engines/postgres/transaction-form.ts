import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { guardRefusal, type Guard, type GuardedBatch } from '../../kv/guards.js';
import { floorOf, type Ingestion } from '../../kv/ingestion.js';
import type { Entry } from '../../kv/store.js';
import { decideBatch } from './batch-decision.js';
import { byteaArray, int4Array, int8Array } from './binary-array.js';
import type { BatchConnection, CommitForm, CommitOptions, SessionBatch } from './commit-form.js';
import { NotDurableError, SessionClosedError } from './failures.js';
import { hashOf, isLongKey, keyArrays } from './long-keys.js';
import { encodeOutcomes, type Outcome } from './outcomes.js';
import { bytesOf, numberOf, type Row } from './rows.js';
import type { Statements } from './statements.js';

/**
 * Applies a batch as a transaction of plain statements: locks and reads, a decision here, then
 * writes. It takes two round trips, during which the slots are locked. For databases that lack the
 * functions of the other form.
 */
export function transactionForm(statements: Statements): CommitForm {
  const transactionOn = (connection: BatchConnection, batch: SessionBatch) =>
    new BatchTransaction({ connection, batch, statements });
  return {
    pipelines: true,
    commits: (batches, options) => (connection, batch) =>
      transactionOn(connection, batch).commits(batches, options),
    ingestion: (ingestion) => (connection, batch) =>
      transactionOn(connection, batch).ingestion(ingestion),
  };
}

/**
 * At this level each statement has its own snapshot, so statements after the locks see the commits
 * of the former holders.
 */
const begin = 'begin isolation level read committed';

interface Writes {
  readonly puts: readonly Entry[];
  readonly deletes: readonly Bytes[];
}

interface Parts {
  readonly connection: BatchConnection;
  readonly batch: SessionBatch;
  readonly statements: Statements;
}

/** One batch. Queries are sent in the order of their calls, without waiting for answers. */
class BatchTransaction {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  commits(
    batches: readonly GuardedBatch[],
    { nowMicros, slots }: CommitOptions,
  ): Promise<readonly Outcome[]> {
    const { connection, statements } = this.#parts;
    const held = slots === 'all' ? undefined : int4Array(slots);
    const guards = batches.flatMap(({ guard }) => guard ?? []);
    const checked = [...guards, ...batches.flatMap(({ checks }) => checks)];
    const added = batches.flatMap(({ adds = [] }) => adds);
    return this.#whole(async () => {
      const [, , locks, versions, values] = await answersOf([
        connection.run(begin),
        this.#take(),
        held === undefined
          ? connection.query(statements.lockAllSlots, [])
          : connection.query(statements.lockSlots, [held]),
        this.#versionsOf(checked.map(({ key }) => key)),
        this.#valuesOf(added.map(({ key }) => key)),
      ]);
      const last = locks.reduce((greatest, [field]) => Math.max(greatest, numberOf(field)), 0);
      const version = Math.max(nowMicros, last + 1);
      const { outcomes, ...writes } = decideBatch(batches, { versions, values }, version);
      const lastGiven = String(version + batches.length - 1);
      const setSlots = () =>
        held === undefined
          ? connection.query(statements.setAllSlots, [lastGiven])
          : connection.query(statements.setSlots, [lastGiven, held]);
      await answersOf([
        ...(outcomes.some(isApplied) ? [setSlots()] : []),
        ...this.#write(writes),
        ...this.#end(outcomes),
      ]);
      return outcomes;
    });
  }

  ingestion(ingestion: Ingestion): Promise<readonly Outcome[]> {
    const { connection, statements } = this.#parts;
    const { guard, entries, deletes } = ingestion;
    const floor = floorOf(ingestion);
    return this.#whole(async () => {
      const [, , , versions] = await answersOf([
        connection.run(begin),
        this.#take(),
        connection.query(statements.lockAllSlots, []),
        this.#versionsOf(guard === undefined ? [] : [guard.key]),
      ]);
      const refusal = guard && refusalOf(guard, versions);
      if (refusal !== undefined) {
        await answersOf(this.#end([refusal]));
        return [refusal];
      }
      const outcomes: Outcome[] = [{ kind: 'result', result: { ok: true, version: floor } }];
      await answersOf([
        ...this.#write({ puts: entries, deletes }),
        connection.query(statements.raiseSlots, [String(floor)]),
        ...this.#end(outcomes),
      ]);
      return outcomes;
    });
  }

  /** When the database refuses a query, nothing is applied, and the connection stays usable. */
  async #whole(work: () => Promise<readonly Outcome[]>): Promise<readonly Outcome[]> {
    const { connection } = this.#parts;
    try {
      return await work();
    } catch (error) {
      if (!connection.isLost) await connection.run('rollback').catch(() => connection.destroy());
      throw error;
    }
  }

  /**
   * Locks the row of the session. Rejects with `SessionClosedError` or `NotDurableError`. Waits for
   * another transaction that closes the session.
   */
  async #take(): Promise<void> {
    const { connection, batch, statements } = this.#parts;
    const values = [batch.id, String(batch.number)];
    const [row] = await connection.query(statements.lockSession, values);
    if (row === undefined) throw new SessionClosedError();
    if (numberOf(row[0]) === 0) throw new NotDurableError();
  }

  async #versionsOf(keys: readonly Bytes[]): Promise<ReadonlyMap<string, number>> {
    if (keys.length === 0) return new Map();
    const rows = await this.#parts.connection.query(
      this.#parts.statements.versionsOf,
      keyArrays(keys),
    );
    return byName(keys, rows, ([, version]) => numberOf(version));
  }

  async #valuesOf(keys: readonly Bytes[]): Promise<ReadonlyMap<string, Bytes>> {
    if (keys.length === 0) return new Map();
    const rows = await this.#parts.connection.query(
      this.#parts.statements.getMany,
      keyArrays(keys),
    );
    return byName(keys, rows, ([, , value]) => bytesOf(value));
  }

  #write({ puts, deletes }: Writes): Promise<unknown>[] {
    const { connection, statements } = this.#parts;
    const sent: Promise<unknown>[] = [];
    for (const isLong of [false, true]) {
      const isHere = (key: Bytes) => isLongKey(key) === isLong;
      const gone = deletes.filter(isHere);
      const there = puts.filter(({ key }) => isHere(key));
      const { deleteKeys, deleteLongKeys, putKeys, putLongKeys } = statements;
      if (gone.length > 0) {
        const names = isLong ? gone.map(hashOf) : gone;
        sent.push(connection.query(isLong ? deleteLongKeys : deleteKeys, [byteaArray(names)]));
      }
      if (there.length === 0) continue;
      sent.push(
        connection.query(isLong ? putLongKeys : putKeys, [
          byteaArray(there.map(({ key }) => key)),
          int8Array(there.map(({ version }) => version)),
          byteaArray(there.map(({ value }) => value)),
          ...(isLong ? [byteaArray(there.map(({ key }) => hashOf(key)))] : []),
        ]),
      );
    }
    return sent;
  }

  /** When an earlier query was refused, the database rolls back instead of committing. */
  #end(outcomes: readonly Outcome[]): Promise<unknown>[] {
    const { connection, batch, statements } = this.#parts;
    const values = [batch.id, String(batch.number), encodeOutcomes(outcomes)];
    return [connection.query(statements.endBatch, values), connection.run('commit')];
  }
}

/**
 * Awaits the answers to the queries of a transaction, in the order in which they were sent. Rejects
 * with the error of the first query that failed. The queries after it fail only because the
 * transaction has failed (25P02), and one of them may reject first.
 */
async function answersOf<Queries extends readonly unknown[] | []>(
  queries: Queries,
): Promise<{ -readonly [At in keyof Queries]: Awaited<Queries[At]> }> {
  await Promise.allSettled(queries);
  return Promise.all(queries);
}

function isApplied(outcome: Outcome): boolean {
  return outcome.kind === 'result' && outcome.result.ok;
}

function refusalOf(guard: Guard, versions: ReadonlyMap<string, number>): Outcome | undefined {
  const error = guardRefusal(guard, versions.get(nameOfBytes(guard.key)) ?? 'absent');
  return error && { kind: 'guard', error };
}

/** Values by the name of their key. Rows begin with the position of their key, from 1. */
function byName<Value>(
  keys: readonly Bytes[],
  rows: readonly Row[],
  valueOf: (row: Row) => Value,
): ReadonlyMap<string, Value> {
  const found = new Map<string, Value>();
  for (const row of rows) {
    const key = keys[numberOf(row[0]) - 1];
    if (key !== undefined) found.set(nameOfBytes(key), valueOf(row));
  }
  return found;
}
