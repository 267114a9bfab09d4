import { unreachable } from '../src/base/invariant.js';
import { systemRandomness } from '../src/base/randomness.js';
import { composeBatch } from '../src/wire/batch/compose.js';
import {
  batchRows,
  bucketCount,
  changeJson,
  entityJson,
  partitionKey,
  partitionKeyDigits,
  partitionRows,
  rowKey,
  rowKeyDigits,
  tableName,
} from './dataset.js';
import { signedRequest, type Target } from './http-request.js';
import type { TableOperation } from './kinds.js';
import type { Workload } from './load.js';

/**
 * Different requests that are signed before the clock starts: one for this number of rows, within
 * bounds.
 */
const rowsPerRequest = 10;
const poolSizeMin = 2000;
const poolSizeMax = 50_000;

/**
 * The table that loads of a run work on. Numbers every row written, so that no insert meets one.
 */
export class TableData {
  /** Before the clock starts. */
  readonly rows: number;
  readonly partitions: number;
  #next: number;

  /** `first` is the number of the first row written: more than any that is in the table already. */
  constructor(rows: number, first = 0) {
    this.rows = rows;
    this.partitions = rows / partitionRows;
    this.#next = first;
  }

  /** The first of `count` consecutive numbers. */
  take(count: number): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }
}

/** A whole number in 0…`bound` - 1 that looks random and depends only on `index`. */
function scatter(index: number, bound: number): number {
  return (Math.imul(index + 1, 2654435761) >>> 8) % bound;
}

function poolOf(rows: number, make: (index: number) => Buffer): () => Buffer {
  const poolSize = Math.min(poolSizeMax, Math.max(poolSizeMin, Math.floor(rows / rowsPerRequest)));
  const pool = Array.from({ length: poolSize }, (_, index) => make(index));
  let sent = 0;
  return () => {
    sent += 1;
    return pool[sent % poolSize] ?? Buffer.alloc(0);
  };
}

function queryPath(filter: string): string {
  return `/${tableName}()?$filter=${encodeURIComponent(filter).replaceAll("'", '%27')}`;
}

interface EntityKey {
  readonly partition: string;
  readonly row: string;
}

/** Of one that was there before the clock started. */
function scatteredKey(index: number, { partitions }: TableData): EntityKey {
  const partition = partitionKey(scatter(index, partitions));
  return { partition, row: rowKey(scatter(index * 7, partitionRows)) };
}

function entityPath({ partition, row }: EntityKey): string {
  return `/${tableName}(PartitionKey='${partition}',RowKey='${row}')`;
}

function pointReads(target: Target, data: TableData): Workload {
  const next = poolOf(data.rows, (index) =>
    signedRequest(target, 'read', entityPath(scatteredKey(index, data))),
  );
  return { next, status: 200, marker: '"RowKey":', occurrences: 1 };
}

/** Each changes two of the ten properties of an entity, and needs what is stored of the others. */
function merges(target: Target, data: TableData): Workload {
  const next = poolOf(data.rows, (index) => {
    const key = scatteredKey(index, data);
    return signedRequest(
      target,
      'merge',
      entityPath(key),
      changeJson(key.partition, key.row, index),
    );
  });
  return { next, status: 204, marker: 'anything', occurrences: 0 };
}

function ranges(target: Target, { rows, partitions }: TableData): Workload {
  const next = poolOf(rows, (index) => {
    const partition = partitionKey(scatter(index, partitions));
    const first = scatter(index * 7, partitionRows - batchRows);
    const filter =
      `PartitionKey eq '${partition}' and RowKey ge '${rowKey(first)}' ` +
      `and RowKey lt '${rowKey(first + batchRows)}'`;
    return signedRequest(target, 'read', queryPath(filter));
  });
  return { next, status: 200, marker: '"RowKey":', occurrences: batchRows };
}

function scans(target: Target, { rows, partitions }: TableData): Workload {
  const next = poolOf(rows, (index) => {
    const partition = partitionKey(scatter(index, partitions));
    const filter = `PartitionKey eq '${partition}' and Bucket eq ${scatter(index * 7, bucketCount)}`;
    return signedRequest(target, 'read', queryPath(filter));
  });
  return { next, status: 200, marker: '"RowKey":', occurrences: partitionRows / bucketCount };
}

const rowMarker = '0'.repeat(rowKeyDigits);

function writeDigits(request: Buffer, offset: number, number: number, digits: number): void {
  request.write(String(number).padStart(digits, '0'), offset, 'latin1');
}

/** Rows arrive in scattered order: each goes to another partition, and somewhere else in it. */
function inserts(target: Target, data: TableData): Workload {
  const requests = new Map<number, Buffer>();
  const prepare = (connection: number): Buffer => {
    const body = entityJson(partitionKey(0), `i${rowMarker}`, connection);
    const request = signedRequest(target, 'insert', `/${tableName}`, body);
    requests.set(connection, request);
    return request;
  };
  const partitionMark = '"PartitionKey":"p';
  const rowMark = '"RowKey":"i';
  return {
    next(connection) {
      const request = requests.get(connection) ?? prepare(connection);
      const number = data.take(1);
      const partitionAt = request.indexOf(partitionMark) + partitionMark.length;
      const rowAt = request.indexOf(rowMark, partitionAt) + rowMark.length;
      writeDigits(request, partitionAt, scatter(number, data.partitions), partitionKeyDigits);
      writeDigits(request, rowAt, Math.imul(number, 2654435761) >>> 0, rowKeyDigits);
      return request;
    },
    status: 204,
    marker: 'anything',
    occurrences: 0,
  };
}

/** One changeset of inserts with the headers that the JavaScript client gives each. */
function batchRequest(target: Target, entities: readonly string[]): Buffer {
  const url = `http://${target.host}:${target.port}/${target.account.name}/${tableName}`;
  const headers = [
    ['Content-Type', 'application/json;odata=nometadata'],
    ['Accept', 'application/json;odata=minimalmetadata'],
    ['DataServiceVersion', '3.0'],
    ['Prefer', 'return-no-content'],
  ] as const;
  const operations = entities.map(
    (body) => ({ method: 'POST', target: url, headers, body }) as const,
  );
  const { body, contentType } = composeBatch(operations, systemRandomness);
  return signedRequest(target, 'batch', '/$batch', body, contentType);
}

const batchAnswer = { status: 202, marker: 'HTTP/1.1 204', occurrences: batchRows } as const;

interface PatchableRequest {
  readonly bytes: Buffer;
  /** Where the digits of each row key begin. */
  readonly offsets: readonly number[];
}

function patchable(bytes: Buffer, before: string): PatchableRequest {
  const offsets: number[] = [];
  for (let at = bytes.indexOf(before); at !== -1; at = bytes.indexOf(before, at + 1)) {
    offsets.push(at + before.length);
  }
  return { bytes, offsets };
}

/** Each connection appends to a partition of its own, as an import does. */
function batches(target: Target, data: TableData): Workload {
  const requests = new Map<number, PatchableRequest>();
  const prepare = (connection: number): PatchableRequest => {
    const partition = `b${String(connection).padStart(3, '0')}`;
    const entities = Array.from({ length: batchRows }, (_, index) =>
      entityJson(partition, `b${rowMarker}`, index),
    );
    const request = patchable(batchRequest(target, entities), '"RowKey":"b');
    requests.set(connection, request);
    return request;
  };
  return {
    next(connection) {
      const request = requests.get(connection) ?? prepare(connection);
      const first = data.take(batchRows);
      request.offsets.forEach((offset, index) => {
        writeDigits(request.bytes, offset, first + index, rowKeyDigits);
      });
      return request.bytes;
    },
    ...batchAnswer,
  };
}

/** Signs what the operation needs and returns its load. Call it again for every measurement. */
export function makeTableWorkload(
  operation: TableOperation,
  target: Target,
  data: TableData,
): Workload {
  switch (operation) {
    case 'point':
      return pointReads(target, data);
    case 'range':
      return ranges(target, data);
    case 'scan':
      return scans(target, data);
    case 'insert':
      return inserts(target, data);
    case 'merge':
      return merges(target, data);
    case 'batch':
      return batches(target, data);
    default:
      return unreachable(operation);
  }
}

/** Creates the table; sent once. */
export function tableCreation(target: Target): Workload {
  const body = JSON.stringify({ TableName: tableName });
  const requests = [signedRequest(target, 'insert', '/Tables', body)];
  return { next: () => requests.pop(), status: 204, marker: 'anything', occurrences: 0 };
}

/** The rows that every server holds before the clock starts. Ends by itself. */
export function dataLoading(
  target: Target,
  { partitions }: TableData,
  onSent: (rows: number) => void,
): Workload {
  let sent = 0;
  const perPartition = partitionRows / batchRows;
  return {
    next() {
      if (sent === partitions * perPartition) return undefined;
      const partition = Math.floor(sent / perPartition);
      const first = (sent % perPartition) * batchRows;
      sent += 1;
      onSent(sent * batchRows);
      const entities = Array.from({ length: batchRows }, (_, index) => {
        const row = first + index;
        return entityJson(partitionKey(partition), rowKey(row), partition * partitionRows + row);
      });
      return batchRequest(target, entities);
    },
    ...batchAnswer,
  };
}
