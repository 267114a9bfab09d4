import { batchOperationsMax } from '../../wire/batch/parse-batch.js';
import { payloadBytes, payloadBytesMax, type WritableRow } from './transaction-writer.js';

/** Rows that may go into one entity group transaction. */
export interface RowGroup<Row extends WritableRow> {
  readonly partitionKey: string;
  readonly rows: readonly Row[];
}

interface OpenGroup<Row extends WritableRow> {
  readonly partitionKey: string;
  readonly rows: Row[];
  readonly rowKeys: Set<string>;
  bytes: number;
}

/**
 * Collects rows by partition until a transaction is full: 100 operations, the payload limit, or a
 * second row with the same key. Groups of one partition are returned in the order of their rows.
 */
export class TransactionGroups<Row extends WritableRow> {
  /** By partition key. Insertion order is the order of the groups' first rows. */
  readonly #open = new Map<string, OpenGroup<Row>>();
  #rows = 0;
  #bytes = 0;

  /** Rows held. */
  get rowCount(): number {
    return this.#rows;
  }

  /** The estimated request bytes of the rows held. */
  get byteCount(): number {
    return this.#bytes;
  }

  /** Adds a row; returns the groups that are full now. */
  add(row: Row): RowGroup<Row>[] {
    const complete: RowGroup<Row>[] = [];
    const { partitionKey, rowKey } = row.entity;
    const bytes = payloadBytes(row);
    let group = this.#open.get(partitionKey);
    if (group !== undefined && !fits(group, rowKey, bytes)) {
      complete.push(this.#close(group));
      group = undefined;
    }
    if (group === undefined) {
      group = { partitionKey, rows: [], rowKeys: new Set(), bytes: 0 };
      this.#open.set(partitionKey, group);
    }
    group.rows.push(row);
    group.rowKeys.add(rowKey);
    group.bytes += bytes;
    this.#rows++;
    this.#bytes += bytes;
    if (group.rows.length === batchOperationsMax) complete.push(this.#close(group));
    return complete;
  }

  /** Removes the oldest group; undefined when there is none. */
  takeOldest(): RowGroup<Row> | undefined {
    for (const group of this.#open.values()) return this.#close(group);
    return undefined;
  }

  #close(group: OpenGroup<Row>): RowGroup<Row> {
    this.#open.delete(group.partitionKey);
    this.#rows -= group.rows.length;
    this.#bytes -= group.bytes;
    return group;
  }
}

function fits<Row extends WritableRow>(
  group: OpenGroup<Row>,
  rowKey: string,
  bytes: number,
): boolean {
  return !group.rowKeys.has(rowKey) && group.bytes + bytes <= payloadBytesMax;
}
