import type { Row } from '../../rows/row.js';
import { sameProperties } from '../../rows/same-value.js';
import { isConflict } from '../../table/contention.js';
import { divided, isTooLargeTogether } from '../../table/divided.js';
import { EntityExistsError } from '../../table/errors.js';
import { keyOfWrite, type RowWrite, type TableGateway } from '../../table/gateway.js';
import { retryTransient, type Retries } from '../../table/transient.js';
import {
  claimKey,
  claimOver,
  fencesAgain,
  foundClaim,
  isFenceRow,
  isOwned,
  restoreClaimRow,
} from '../shard-map/fence.js';
import { ManagerError } from './manager-errors.js';

/** A run of a restore, as its partitions are written. */
export interface RestoringRun {
  readonly table: TableGateway;
  readonly id: string;
  /** Whether an earlier run may have written partitions. */
  readonly isResumed: boolean;
  /** Throws when the run must not send anything more, such as after another run took over. */
  readonly look: () => Promise<void>;
  readonly retries: Retries;
}

/** The rows of a transaction, which also writes the claim, the epoch row and the owner row. */
export const restoredRowsMax = 97;

/** How often a late claim of another run is replaced before the restore fails. */
const claimsMax = 10;

/**
 * Writes the rows of one partition for a restore. The run claims the partition before its first row
 * and deletes the claim with its last one. Every transaction requires the ETag of that claim, and
 * is sent only after the run has looked at the row of the restore once more. So the service refuses
 * late rows of an earlier run: a later run has replaced the claim, or whoever emptied the table has
 * deleted it.
 *
 * The rows that a map keeps in the partition are written with the last rows, so that no shard map
 * takes the partition for open before it is whole.
 */
export class RestoredPartition {
  readonly partitionKey: string;
  readonly #run: RestoringRun;
  readonly #fences: Row[] = [];
  #etag: string | undefined;
  #sent = 0;
  #before: Promise<unknown> = Promise.resolve();

  constructor(run: RestoringRun, partitionKey: string) {
    this.#run = run;
    this.partitionKey = partitionKey;
  }

  /** Writes the next rows of the partition, after those that were given before. */
  write(rows: readonly Row[], isLast: boolean): Promise<void> {
    const written = this.#before.then(() => this.#write(rows, isLast));
    this.#before = written;
    return written;
  }

  async #write(rows: readonly Row[], isLast: boolean): Promise<void> {
    try {
      await this.#writeClaimed(rows, isLast);
    } catch (error) {
      // It may have been written after a later run has ended, which deletes no claim any more.
      if (this.#sent === 0) await this.#withdraw();
      throw error;
    }
  }

  async #writeClaimed(rows: readonly Row[], isLast: boolean): Promise<void> {
    this.#etag ??= await this.#passing(() => this.#claim());
    this.#fences.push(...rows.filter(isFenceRow));
    const upserts = rows
      .filter((row) => !isFenceRow(row))
      .map((row): RowWrite => ({ kind: 'upsert-replace', row }));
    const sendPart = (some: readonly RowWrite[]): Promise<void> => this.#send(some, false);
    if (!isLast) return upserts.length === 0 ? undefined : divided(upserts, sendPart);
    const fences = fencesAgain(this.#fences);
    try {
      await this.#send([...fences, ...upserts], true);
    } catch (error) {
      if (upserts.length === 0 || !isTooLargeTogether(error)) throw error;
      await divided(upserts, sendPart);
      await this.#send(fences, true);
    }
  }

  /** The ETag of the claim of this run. */
  async #claim(): Promise<string> {
    const first = this.#run.isResumed ? undefined : await this.#claimFirst();
    return first ?? this.#claimOver();
  }

  /** Undefined when another run of a restore has a claim that is to be replaced. */
  async #claimFirst(): Promise<string | undefined> {
    const { table, id, look } = this.#run;
    await look();
    try {
      const row = restoreClaimRow(this.partitionKey, { run: id, sent: 0 });
      const { etag } = await table.write({ kind: 'insert', row });
      return await this.#unopened(etag ?? '');
    } catch (error) {
      if (!(error instanceof EntityExistsError)) throw error;
    }
    const found = await foundClaim(table, this.partitionKey);
    if (found === undefined || found.restore === undefined) throw this.#taken();
    if (found.restore.run === id) {
      // The answer to an earlier insert was lost.
      return this.#unopened(found.etag);
    }
    // The other run may be a later one.
    await look();
    return undefined;
  }

  /** The ETag of the claim. Throws when a program has opened the partition meanwhile. */
  async #unopened(etag: string): Promise<string> {
    if (!(await isOwned(this.#run.table, this.partitionKey))) return etag;
    // Perhaps a later run has restored the partition: that is told then.
    await this.#run.look();
    throw this.#taken();
  }

  #claimOver(): Promise<string> {
    const { table, id: run, retries, look } = this.#run;
    return claimOver(table, this.partitionKey, { run, sent: this.#sent }, { ...retries, look });
  }

  /** One transaction under the claim, until it is known to be applied. */
  async #send(writes: readonly RowWrite[], isLast: boolean): Promise<void> {
    for (let claims = 1; ; claims += 1) {
      if (await this.#passing(() => this.#isApplied(writes, isLast))) break;
      if (claims >= claimsMax) throw this.#taken();
    }
    this.#sent += 1;
  }

  /** False when it is to be sent again, under the claim as it is now. */
  async #isApplied(writes: readonly RowWrite[], isLast: boolean): Promise<boolean> {
    const { table, id, look } = this.#run;
    const { partitionKey } = this;
    const sent = this.#sent + 1;
    const etag = this.#etag ?? '';
    await look();
    try {
      const claim: RowWrite = isLast
        ? { kind: 'delete', key: claimKey(partitionKey), etag }
        : { kind: 'merge', row: restoreClaimRow(partitionKey, { run: id, sent }), etag };
      const [result] = await table.transact([claim, ...writes]);
      this.#etag = result?.etag ?? '';
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    // An earlier attempt may have been applied without an answer.
    const found = await foundClaim(table, partitionKey);
    if (found === undefined && isLast && (await this.#areThere(writes))) return true;
    await look();
    const isMapClaim = found !== undefined && found.restore === undefined;
    // Whoever deleted the claim may have deleted the rows that were sent under it.
    if (isMapClaim || (found === undefined && (await this.#isTaken()))) throw this.#taken();
    if (found?.restore?.run === id) {
      this.#etag = found.etag;
      return found.restore.sent === sent;
    }
    // The claim of a superseded run arrived late. That run looks before it sends rows, and stops.
    this.#etag = await this.#claimOver();
    return false;
  }

  async #isTaken(): Promise<boolean> {
    return this.#sent > 0 || (await isOwned(this.#run.table, this.partitionKey));
  }

  /** Deletes the claim of this run, unless rows were sent under it. */
  async #withdraw(): Promise<void> {
    const { table, id } = this.#run;
    try {
      const found = await foundClaim(table, this.partitionKey);
      if (found?.restore?.run !== id || found.restore.sent > 0) return;
      const key = claimKey(this.partitionKey);
      await table.write({ kind: 'delete', key, etag: found.etag });
    } catch {
      // What is told is why the restore ended. A claim that stays keeps nobody from the partition.
    }
  }

  async #areThere(writes: readonly RowWrite[]): Promise<boolean> {
    for (const write of writes) {
      const found = await this.#run.table.get(keyOfWrite(write));
      if (found === undefined) return false;
      if ('row' in write && !sameProperties(write.row, found)) return false;
    }
    return true;
  }

  #passing<T>(send: () => Promise<T>): Promise<T> {
    return retryTransient(this.#run.retries, send);
  }

  #taken(): ManagerError {
    return new ManagerError(
      `'${this.partitionKey}' in ${this.#run.table.table} was claimed by a program that moves ` +
        'partitions, or its rows were deleted, while it was restored; end that, and restore it ' +
        'again with resume',
    );
  }
}
