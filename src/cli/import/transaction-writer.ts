import type { Entity } from '../../model/edm/value.js';
import type { TableClient, WriteMode } from '../client/table-client.js';
import { patientRetries, retrying, type RetryPolicy } from '../client/retry.js';
import { ServiceError } from '../client/service-error.js';
import { differingRows } from './stored-rows.js';

/** One entity to write, with the body of its request. */
export interface WritableRow {
  readonly entity: Entity;
  readonly body: string;
}

export interface RefusedWrite<Row> {
  readonly row: Row;
  readonly code: string;
  readonly message: string;
}

export interface WriterOptions {
  readonly client: TableClient;
  readonly table: string;
  readonly mode: WriteMode;
  readonly signal: AbortSignal;
  readonly onRetry: (error: unknown) => void;
  readonly retries?: RetryPolicy;
}

/** The limit of a request body, below the service's 4 MiB. */
export const payloadBytesMax = 4 * 1024 * 1024 - 64 * 1024;

/**
 * The bytes of an operation besides its JSON: two headers, the delimiter and the keys in the URL.
 */
const operationOverhead = 512;
const keyBytesMaxPerUnit = 9;

export function payloadBytes({ entity, body }: WritableRow): number {
  const keyUnits = entity.partitionKey.length + entity.rowKey.length;
  return operationOverhead + keyUnits * keyBytesMaxPerUnit + Buffer.byteLength(body);
}

/**
 * Writes rows of one partition with distinct keys in one entity group transaction. When the service
 * refuses it because of one row, that row is removed and the rest is retried. Returns the removed
 * rows. When the answer to an insert was lost and the repeated insert finds existing rows, rows
 * that are stored with the same columns are not refused, because the lost attempt has written them.
 * Throws errors that concern all rows: no access, no table, no connection.
 */
export async function writeTransaction<Row extends WritableRow>(
  rows: readonly Row[],
  options: WriterOptions,
): Promise<readonly RefusedWrite<Row>[]> {
  const refused: RefusedWrite<Row>[] = [];
  const pending: (readonly Row[])[] = [rows];
  for (let group = pending.pop(); group !== undefined; group = pending.pop()) {
    if (group.length === 0) continue;
    const outcome = await attempt(group, options);
    if (outcome === 'written') continue;
    const { failure, wasLost } = outcome;
    if (wasLost && failure.code === 'EntityAlreadyExists') {
      const differing = await differingRows(group, options);
      if (differing !== undefined) {
        refused.push(...differing.map((row) => refusedBy(failure, row)));
        continue;
      }
    }
    const at = failedRow(failure, group.length);
    const row = at === undefined ? undefined : group[at];
    if (at === undefined || row === undefined) {
      const middle = group.length >> 1;
      pending.push(group.slice(middle), group.slice(0, middle));
    } else {
      refused.push(refusedBy(failure, row));
      pending.push([...group.slice(0, at), ...group.slice(at + 1)]);
    }
  }
  return refused;
}

function refusedBy<Row>({ code, message }: ServiceError, row: Row): RefusedWrite<Row> {
  return { row, code, message };
}

interface FailedAttempt {
  /** The error, which concerns single rows. */
  readonly failure: ServiceError;
  /** The answer to an earlier attempt was lost, so rows may be written already. */
  readonly wasLost: boolean;
}

async function attempt(
  rows: readonly WritableRow[],
  { client, table, mode, signal, onRetry, retries = patientRetries }: WriterOptions,
): Promise<'written' | FailedAttempt> {
  const operations = rows.map(({ entity, body }) => client.operation(table, entity, mode, body));
  let wasLost = false;
  const noteRetry = (error: unknown): void => {
    wasLost = true;
    onRetry(error);
  };
  try {
    await retrying(retries, () => client.transact(operations), { signal, onRetry: noteRetry });
    return 'written';
  } catch (error) {
    if (error instanceof ServiceError && concernsRows(error)) return { failure: error, wasLost };
    throw error;
  }
}

const fatalCodes: ReadonlySet<string> = new Set([
  'TableNotFound',
  'TableBeingDeleted',
  'AuthenticationFailed',
  'AuthorizationFailure',
  'InvalidAuthenticationInfo',
  'AccountIsDisabled',
]);

function concernsRows({ status, code }: ServiceError): boolean {
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && !fatalCodes.has(code);
}

/** The index of the failed row; undefined when only smaller transactions can tell. */
function failedRow({ operationIndex }: ServiceError, count: number): number | undefined {
  if (count === 1) return 0;
  if (operationIndex === undefined || operationIndex >= count) return undefined;
  return operationIndex;
}
