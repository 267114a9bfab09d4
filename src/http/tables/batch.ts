import { invariant, unreachable } from '../../base/invariant.js';
import { MalformedBatchError } from '../../wire/batch/malformed.js';
import { parseBatch } from '../../wire/batch/parse-batch.js';
import type { BatchOperation } from '../../wire/batch/part-reader.js';
import { renderBatchResponse, type BatchOutcome } from '../../wire/batch/render.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkGroup } from '../../services/tables/entity-writes.js';
import { keysOf } from '../../services/tables/staged-write.js';
import type { Description } from '../exchange/description.js';
import type { EntityName } from '../exchange/request-load.js';
import { runBatchQuery } from './batch-query.js';
import { ChangeReader, checkSameTable, writtenParts, type Change } from './changeset.js';
import { errorLevelOf, preferenceOf, type Preference } from './format.js';
import { bodyBytesMax, type TableOperation } from './operation.js';
import { odataHeaders } from './replies.js';
import type { TableRequest } from './request.js';

interface Output {
  readonly outcome: BatchOutcome;
  /** The description of the batch's only query. */
  readonly query?: Description;
}

type Input =
  | { readonly kind: 'changeset'; readonly table: string; readonly changes: readonly Change[] }
  | { readonly kind: 'query'; readonly part: BatchOperation }
  | {
      readonly kind: 'failed';
      readonly outcome: BatchOutcome;
      /** The number of operations in the changeset, as far as known. */
      readonly operationCount: number;
    };

/**
 * `POST /$batch`: an entity group transaction, or one query (table-service §9). The status is 202
 * even when the transaction fails; only errors that concern no operation fail the whole request.
 */
export const batch: TableOperation<Input, Output> = {
  access: {
    kind: 'each',
    scope: 'object',
    orScope: 'container',
    permissions: ['read', 'add', 'update', 'delete'],
    needs: 'any',
  },
  bodyBytesMax,

  parse(request) {
    try {
      return parse(request);
    } catch (error) {
      if (!(error instanceof MalformedBatchError)) throw error;
      return { kind: 'failed', outcome: { kind: 'malformed', error }, operationCount: 1 };
    }
  },

  describe(input, output) {
    if (output === undefined) return describeInput(input);
    const { outcome, query } = output;
    return { ...query, ...('error' in outcome ? { errorCode: outcome.error.code } : {}) };
  },
  isReadOnly: ({ kind }) => kind === 'query',
  onlyDeletes: (input) =>
    input.kind === 'changeset' &&
    input.changes.every(({ input: { operation } }) => operation.kind === 'delete'),

  async run(input, request) {
    switch (input.kind) {
      case 'changeset':
        return { outcome: await runChangeset(input.table, input.changes, request) };
      case 'query':
        return runBatchQuery(input.part, request);
      case 'failed':
        return { outcome: input.outcome };
      default:
        return unreachable(input);
    }
  },

  entities: namedEntities,

  load({ outcome }, input) {
    const [first] = namedEntities(input);
    if (outcome.kind !== 'written' || first === undefined) return [];
    return [{ partitionKey: first.partitionKey, count: outcome.parts.length }];
  },

  render({ outcome }, _input, { exchange, backend: { randomness } }) {
    const { requestId, timeMicros } = exchange;
    const context = { requestId, timeMicros, randomness };
    const { contentType, body } = renderBatchResponse(outcome, context);
    const headers = odataHeaders();
    headers.push('Content-Type', contentType);
    return { status: 202, headers, body };
  },
};

function describeInput(input: Input): Description {
  switch (input.kind) {
    case 'changeset':
      return { container: input.table, operationCount: input.changes.length };
    case 'failed':
      return { operationCount: input.operationCount };
    case 'query':
      return {};
    default:
      return unreachable(input);
  }
}

function namedEntities(input: Input): readonly EntityName[] {
  return input.kind === 'changeset'
    ? input.changes.map(({ input: { operation } }) => keysOf(operation))
    : [];
}

function parse(request: TableRequest): Input {
  const { exchange } = request;
  const parsed = parseBatch(exchange.body, request.header('content-type') ?? '');
  switch (parsed.kind) {
    case 'query':
      return { kind: 'query', part: parsed.operation };
    case 'refused':
      return failed(parsed.error, {
        part: parsed.operation,
        operationCount: 1 + (parsed.error.operationIndex ?? 0),
        request,
      });
    case 'changeset':
      return parseChangeset(parsed.operations, request);
    default:
      return unreachable(parsed);
  }
}

function parseChangeset(parts: readonly BatchOperation[], request: TableRequest): Input {
  const changes: Change[] = [];
  const reader = new ChangeReader(request);
  for (const [index, part] of parts.entries()) {
    try {
      const change = reader.read(part);
      checkSameTable(changes[0] ?? change, change);
      changes.push(change);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      const { failure, part } = firstFailure(changes, error.atOperation(index), parts);
      return failed(failure, { part, operationCount: parts.length, request });
    }
  }
  const table = changes[0]?.input.table;
  invariant(table !== undefined, 'a changeset has an operation');
  return { kind: 'changeset', table, changes };
}

/** An unreadable operation is not the first failure when an earlier one breaks a rule. */
function firstFailure(
  before: readonly Change[],
  unreadable: StorageError,
  parts: readonly BatchOperation[],
): { readonly failure: StorageError; readonly part: BatchOperation } {
  const failure = brokenRule(before) ?? unreadable;
  const part = parts[failure.operationIndex ?? 0];
  invariant(part !== undefined, 'an error names one of the operations');
  return { failure, part };
}

function brokenRule(changes: readonly Change[]): StorageError | undefined {
  if (changes.length === 0) return undefined;
  try {
    checkGroup(changes.map(({ input }) => input.operation));
    return undefined;
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
}

/** The failed operation of a changeset, and its context. */
interface FailedOperation<Part> {
  readonly part: Part;
  readonly operationCount: number;
  readonly request: TableRequest;
}

function failed(error: StorageError, failure: FailedOperation<BatchOperation>): Input {
  const { method, headers } = failure.part;
  const preference = method === 'POST' ? preferenceOf(headers.get('prefer')) : undefined;
  const { operationCount } = failure;
  return { kind: 'failed', outcome: writeFailed(error, failure, preference), operationCount };
}

function writeFailed(
  error: StorageError,
  failure: FailedOperation<Pick<BatchOperation, 'contentId' | 'headers'>>,
  preferenceApplied: Preference | undefined,
): BatchOutcome {
  const { part, operationCount, request } = failure;
  return {
    kind: 'write-failed',
    error,
    operationCount,
    contentId: part.contentId,
    level: errorLevelOf(part.headers.get('accept'), undefined, request.backend.rules),
    preferenceApplied,
  };
}

/** False for failures unrelated to the operations, such as load: they fail the whole request. */
function isAboutOperation(error: unknown): error is StorageError {
  return error instanceof StorageError && error.status < 500;
}

async function runChangeset(
  table: string,
  changes: readonly Change[],
  request: TableRequest,
): Promise<BatchOutcome> {
  const { backend, account } = request;
  try {
    const operations = changes.map(({ input }) => input.operation);
    const results = await backend.tables.transact(account, table, operations);
    return { kind: 'written', parts: writtenParts(changes, results, request) };
  } catch (error) {
    if (!isAboutOperation(error)) throw error;
    const change = changes[error.operationIndex ?? 0];
    invariant(change !== undefined, 'an error names one of the operations');
    const place = { part: change, operationCount: changes.length, request };
    return writeFailed(error, place, change.input.preference);
  }
}
