import type { Randomness } from '../../../base/randomness.js';
import type { Timers } from '../../../base/async/timers.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { isConflict, updateAttemptsMax } from '../../table/contention.js';
import { ContentionError, isAmbiguous, TransactionFailedError } from '../../table/errors.js';
import type { RowWrite } from '../../table/gateway.js';
import { hasStamp, newStamp } from '../../table/write-stamp.js';
import { backOff } from '../../../base/async/back-off.js';
import { sleep } from '../../../base/async/sleep.js';
import {
  entryChanges,
  isWanted,
  planBeside,
  type CopyFindings,
  type IndexWrite,
} from './beside-plan.js';
import { primaryOf, sameKey, type CopyEntry } from './index-entry.js';
import { IndexValueTakenError } from './index-errors.js';
import type { OutboxMessage } from '../transactional-outbox/outbox.js';
import { intentOf, type IntentOptions } from './index-outbox.js';
import type { IndexPlaces } from './index-places.js';
import { rowAfter } from './row-after.js';

export interface IndexWriterOptions extends IntentOptions {
  readonly randomness: Randomness;
  readonly timers: Timers;
}

/** Derives the write of an entity from its current row. */
export type Decide = (
  row: StoredRow | undefined,
  stamp: string,
) => RowWrite | undefined | Promise<RowWrite | undefined>;

export interface ChangeOptions {
  /** Assumes that the row does not exist: the first attempt does not read it. */
  readonly isNew?: boolean;
  readonly attemptsMax?: number;
}

/** The row after a change; undefined after a delete, and when there was nothing to change. */
export interface ChangeResult {
  readonly row: StoredRow | undefined;
}

const contention = { first: 4, last: 250 };

interface Attempt {
  readonly row: StoredRow | undefined;
  readonly write: RowWrite;
  readonly plan: readonly IndexWrite[];
  readonly intent: OutboxMessage | undefined;
}

/**
 * Writes entities together with their indexes in the same partition and the intents for other
 * indexes.
 */
export class IndexWriter {
  readonly #places: IndexPlaces;
  readonly #options: IndexWriterOptions;

  constructor(places: IndexPlaces, options: IndexWriterOptions) {
    this.#places = places;
    this.#options = options;
  }

  /**
   * Reads the row, lets `decide` derive its write, and sends it in one transaction with the index
   * writes; after a conflict, all is repeated. The write must be valid only for the row as read.
   * `decide` may run several times; an error that it throws ends the change.
   */
  async change(
    key: RowKey,
    { isNew = false, attemptsMax = updateAttemptsMax }: ChangeOptions,
    decide: Decide,
  ): Promise<ChangeResult> {
    let findings: CopyFindings = { unowned: new Map() };
    let foundAt: string | undefined;
    const stamps: string[] = [];
    let refusal: unknown;
    for (let count = 1; count <= attemptsMax; count++) {
      if (count > 1) await this.#pause(count - 1);
      const row = isNew && count === 1 ? undefined : await this.#places.table.get(key);
      if (row !== undefined && this.#isOwn(row, stamps)) return { row };
      // The values of another version may differ.
      if (row?.etag !== foundAt) findings = { unowned: new Map() };
      foundAt = row?.etag;
      const stamp = newStamp(this.#options.randomness);
      const write = await decide(row, stamp);
      if (write === undefined) return { row };
      try {
        const attempt = await this.#plan(row, write, findings);
        stamps.push(stamp);
        return await this.#send(attempt);
      } catch (error) {
        refusal = error;
        await this.#recordFailure(error, write, findings);
      }
    }
    const row = stamps.length === 0 ? undefined : await this.#places.table.get(key);
    if (row !== undefined && this.#isOwn(row, stamps)) return { row };
    throw new ContentionError(
      `${this.#places.entity.type}: other writers were faster at all of ${attemptsMax} attempts`,
      { cause: refusal },
    );
  }

  async #plan(
    row: StoredRow | undefined,
    write: RowWrite,
    findings: CopyFindings,
  ): Promise<Attempt> {
    const changes = entryChanges(this.#places, row, rowAfter(row, write));
    const beside = await planBeside(this.#places, keyOfRow(write), changes, findings);
    return {
      row,
      write,
      plan: beside,
      intent: await intentOf(this.#options, keyOfRow(write), changes),
    };
  }

  async #send(attempt: Attempt): Promise<ChangeResult> {
    const { row, write, plan } = attempt;
    let etag: string | undefined;
    try {
      etag = await this.#transact(attempt);
    } catch (error) {
      throw new AttemptFailure(error, plan);
    }
    const after = rowAfter(row, write);
    if (after === undefined) return { row: undefined };
    // The ETag is unknown when the response was lost.
    return { row: etag === undefined ? await this.#places.primary(after) : { ...after, etag } };
  }

  async #transact({ write, plan, intent }: Attempt): Promise<string | undefined> {
    const { table } = this.#places;
    const writes = [write, ...plan.map((each) => each.write)];
    if (intent !== undefined) {
      const results = await this.#options.outbox?.transact(writes, [intent]);
      return results?.[0]?.etag;
    }
    const [result] = plan.length === 0 ? [await table.write(write)] : await table.transact(writes);
    return result?.etag;
  }

  /** Throws errors that a retry cannot fix, and records the others for the next attempt. */
  async #recordFailure(thrown: unknown, write: RowWrite, findings: CopyFindings): Promise<void> {
    const { error, plan } =
      thrown instanceof AttemptFailure ? thrown : { error: thrown, plan: undefined };
    // Without a stamp, a lost response cannot be told from a lost request.
    if (isAmbiguous(error) && (write.kind === 'delete' || !this.#hasStamps)) throw error;
    if (isAmbiguous(error)) return;
    if (!isConflict(error)) throw error;
    const at = error instanceof TransactionFailedError ? (error.index ?? 0) : 0;
    const failed = at === 0 ? undefined : plan?.[at - 1];
    if (failed === undefined || failed.index.kind === 'list') return;
    const { name } = failed.index;
    // The next attempt reads former copies again.
    if (failed.write.kind === 'delete') return;
    if (failed.write.kind === 'replace') findings.unowned.delete(name);
    else if (failed.entry !== undefined) await this.#lookAtTaken(failed.entry, write, findings);
  }

  /** The insert of a copy met a row. It may be replaced only when no entity needs it any more. */
  async #lookAtTaken(
    { index, key }: CopyEntry,
    write: RowWrite,
    findings: CopyFindings,
  ): Promise<void> {
    const taken = await this.#places.table.get(key);
    if (taken === undefined) return;
    const owner = primaryOf(index, taken);
    const isOwn = owner !== undefined && sameKey(owner, keyOfRow(write));
    if (!isOwn && (await isWanted(this.#places, index, owner, key))) {
      throw new IndexValueTakenError(index.name, key);
    }
    findings.unowned.set(index.name, taken.etag);
  }

  get #hasStamps(): boolean {
    return this.#places.entity.system.writeStamp !== undefined;
  }

  #isOwn(row: StoredRow, stamps: readonly string[]): boolean {
    return hasStamp(row, this.#places.entity.system.writeStamp, stamps);
  }

  #pause(failures: number): Promise<void> {
    const { timers, randomness } = this.#options;
    return sleep(timers, backOff(contention, failures, randomness));
  }
}

/** An internal error: the failure of an attempt and its subject. */
class AttemptFailure extends Error {
  readonly error: unknown;
  readonly plan: readonly IndexWrite[];

  constructor(error: unknown, plan: readonly IndexWrite[]) {
    super('an attempt failed', { cause: error });
    this.error = error;
    this.plan = plan;
  }
}

function keyOfRow(write: RowWrite): RowKey {
  const { partitionKey, rowKey } = write.kind === 'delete' ? write.key : write.row;
  return { partitionKey, rowKey };
}
