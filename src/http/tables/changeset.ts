import { invariant, unreachable } from '../../base/invariant.js';
import type { BatchHeaders } from '../../wire/batch/headers.js';
import type { BatchOperation, OperationHead } from '../../wire/batch/part-reader.js';
import type { WrittenPart } from '../../wire/batch/render.js';
import { formatEtag } from '../../wire/edm/etag.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { renderEntity } from '../../wire/odata/render.js';
import type { WriteResult } from '../../services/tables/types.js';
import { authorisePart, checkWritable } from './access.js';
import { BatchRequest } from './batch-request.js';
import { writeRouter } from './entity-routes.js';
import { locationOf } from './insert-entity.js';
import { renderContext } from './replies.js';
import type { TableRequest } from './request.js';
import { tableRouteOf } from './route.js';
import type { WriteBody, WriteInput } from './write.js';
import { grantedUnder } from './write-entity.js';

/**
 * One parsed, well-formed operation of a changeset. It lives until the changeset is answered, so it
 * keeps no reference to the text of the body.
 */
export interface Change {
  readonly input: WriteInput;
  readonly contentId: string | undefined;
  readonly headers: BatchHeaders;
}

/** Parses the operations of a changeset, each as a request of its own, with the same errors. */
export class ChangeReader {
  readonly #outer: TableRequest;
  #last: ReadHead | undefined;

  constructor(outer: TableRequest) {
    this.#outer = outer;
  }

  read(part: BatchOperation): Change {
    // Most operations have the same head as the one before, so its parsed form is reused.
    if (part.head !== this.#last?.head) this.#last = readHead(part, this.#outer);
    const { request, parseBody } = this.#last;
    const input = parsed(() => parseBody(part), request);
    checkWritable(input.operation, request);
    const { contentId, headers } = part.head;
    return { input, contentId, headers };
  }
}

/** The parts of an operation that are known before its body is read. */
interface ReadHead {
  readonly head: OperationHead;
  readonly request: TableRequest;
  readonly parseBody: (body: WriteBody) => WriteInput;
}

function readHead(part: BatchOperation, outer: TableRequest): ReadHead {
  const request = new BatchRequest(outer, part);
  const route = tableRouteOf(writeRouter, request);
  const operation = grantedUnder(outer.backend.rules, route.operation);
  authorisePart(operation, request);
  return { head: part.head, request, parseBody: operation.parseHead(request) };
}

/**
 * The storage layer finds a date out of range in an update, so that the error carries no index when
 * the changeset has one operation (table-service §9.5). No other error there is of this code.
 */
function parsed(parse: () => WriteInput, request: TableRequest): WriteInput {
  try {
    return parse();
  } catch (error) {
    const isDate = error instanceof StorageError && error.code === 'OutOfRangeInput';
    if (!isDate || request.method === 'POST') throw error;
    throw new StorageError(error.code, { message: error.message, layer: 'storage', cause: error });
  }
}

/** A changeset is about one table, however its operations spell the name. */
export function checkSameTable(first: Change, other: Change): void {
  const [name, otherName] = [first.input.table, other.input.table];
  if (name === otherName || name.toLowerCase() === otherName.toLowerCase()) return;
  throw new StorageError('CommandsInBatchActOnDifferentPartitions');
}

/** The responses to the executed operations of a changeset, which one commit has written. */
export function writtenParts(
  changes: readonly Change[],
  results: readonly WriteResult[],
  outer: TableRequest,
): WrittenPart[] {
  const version = results.find((result) => result !== undefined)?.version;
  const etag = version === undefined ? '' : formatEtag(version);
  return changes.map((change, index) =>
    writtenPart(change, { result: results[index], etag, outer }),
  );
}

interface Written {
  /** The written entity; undefined after a deletion. */
  readonly result: WriteResult;
  /** The etag of all entities that the commit has written. */
  readonly etag: string;
  readonly outer: TableRequest;
}

function writtenPart({ input, contentId }: Change, written: Written): WrittenPart {
  switch (input.operation.kind) {
    case 'insert':
      return insertedPart(input, contentId, written);
    case 'delete':
      return { kind: 'deleted', contentId };
    case 'replace':
    case 'merge':
    case 'insert-or-replace':
    case 'insert-or-merge':
      return { kind: 'updated', contentId, etag: written.etag };
    default:
      return unreachable(input.operation);
  }
}

function insertedPart(
  input: WriteInput,
  contentId: string | undefined,
  { result, etag, outer }: Written,
): WrittenPart {
  const { table, level, preference } = input;
  const location = locationOf(input, outer);
  if (level === undefined) return { kind: 'inserted-no-content', contentId, location, etag };
  invariant(result !== undefined, 'an insert leaves an entity');
  return {
    kind: 'inserted',
    preferred: preference === 'return-content',
    body: renderEntity(result, renderContext(outer, { table, level })),
    contentId,
    level,
    location,
    etag,
  };
}
