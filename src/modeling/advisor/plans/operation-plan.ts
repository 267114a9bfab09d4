import { unreachable } from '../../../base/invariant.js';
import { ValueError } from '../../rows/model-error.js';
import { updateAttemptsMax } from '../../table/contention.js';
import type { PlanClass } from '../../table/query-plan.js';
import { exactly, mapEstimate, none, sumOf, type Estimate } from './estimate.js';
import { listEntries, listRequests, upkeepOf, type IndexedChange } from './index-upkeep.js';
import type { RowSet, RowSets } from './row-set.js';
import { readingOfQuery, readingOfScan, type QueryReading } from './reading.js';
import type { ServiceTargets } from './service-targets.js';
import { once, onFailure, pointReads, accessOf, type Access } from './access.js';
import type { AnyLookUp, AnyOperation, WriteKind } from '../facts/workload.js';

/** The requests of one execution of an operation. */
export interface OperationPlan {
  readonly operation: AnyOperation;
  /** The name in reports. */
  readonly name: string;
  /** The class of a query or look-up; `point` for a read by key; undefined for writes. */
  readonly planClass: PlanClass | undefined;
  /** In order: requests of the caller, then those of the worker that acts on an intent. */
  readonly accesses: readonly Access[];
  readonly returned: Estimate;
  /** Rows that its transaction writes; 0 without one. */
  readonly transactionRows: number;
  /** Whether the number of rows in its range of RowKeys is unknown. */
  readonly isAssumed: boolean;
}

type Body = Omit<OperationPlan, 'operation' | 'name'>;

const written: Pick<Body, 'planClass' | 'returned' | 'isAssumed'> = {
  planClass: undefined,
  returned: none,
  isAssumed: false,
};

export function planOf(
  rowSets: RowSets,
  operation: AnyOperation,
  targets: ServiceTargets,
): OperationPlan {
  return {
    operation,
    name: operation.name ?? defaultName(operation),
    ...bodyOf(rowSets, operation, targets),
  };
}

function defaultName(operation: AnyOperation): string {
  switch (operation.kind) {
    case 'look-up':
      return `look-up ${operation.index}`;
    case 'transaction':
      return `transaction of ${operation.writes}`;
    default:
      return operation.kind;
  }
}

function bodyOf(rowSets: RowSets, operation: AnyOperation, targets: ServiceTargets): Body {
  const { entities, facts } = rowSets;
  const context = { rowSet: entities, facts, targets };
  switch (operation.kind) {
    case 'insert':
    case 'replace':
    case 'merge':
    case 'upsert':
    case 'delete':
      return writing(rowSets, operation.kind, operation.changes);
    case 'update':
      return updating(rowSets, operation.changes);
    case 'transaction':
      return transacting(rowSets, operation.writes, operation.of ?? 'insert');
    case 'get':
      return readingOne(entities);
    case 'query':
      return reading(entities, readingOfQuery(context, operation.query, operation));
    case 'scan':
      return reading(entities, readingOfScan(context, operation.scan ?? {}, operation));
    case 'look-up':
      return lookingUp(rowSets, operation, targets);
    default:
      return unreachable(operation);
  }
}

/** One row by its keys. */
function readingOne(rowSet: RowSet): Body {
  return {
    planClass: 'point',
    accesses: [pointReads(rowSet, once)],
    returned: once,
    transactionRows: 0,
    isAssumed: false,
  };
}

function reading(rowSet: RowSet, found: QueryReading): Body {
  return {
    planClass: found.planClass,
    accesses: [rangeReads(rowSet, found)],
    returned: found.returned,
    transactionRows: 0,
    isAssumed: found.isAssumed,
  };
}

function rangeReads(rowSet: RowSet, { requests, read, partitions, readAt }: QueryReading): Access {
  return {
    rowSet,
    request: 'range-read',
    requests,
    read,
    written: none,
    partitions,
    isLater: false,
    at: readAt,
  };
}

function requestOf(kind: WriteKind): 'insert' | 'update' | 'delete' {
  return kind === 'insert' || kind === 'delete' ? kind : 'update';
}

/** The change of a write for the indexes. */
export function changeOf(kind: WriteKind, changes: readonly string[] | undefined): IndexedChange {
  const change = kind === 'insert' || kind === 'delete' ? kind : 'change';
  return { kind: change, changes };
}

/** One write of one entity. */
function writing(rowSets: RowSets, kind: WriteKind, changes: readonly string[] | undefined): Body {
  const { entities, indexes } = rowSets;
  if (indexes.length > 0) return writingBeside(rowSets, kind, changes);
  return {
    ...written,
    accesses: [
      accessOf(entities, requestOf(kind), once, { written: 1 }),
      ...lookAgain(entities, kind),
    ],
    transactionRows: 0,
  };
}

/**
 * After a 409, a 412 or a lost response, a read shows by the write stamp whether the write was
 * applied.
 */
function lookAgain(entities: RowSet, kind: WriteKind): readonly Access[] {
  const hasStamp = entities.definition.system.writeStamp !== undefined;
  return hasStamp && kind !== 'upsert' && kind !== 'delete'
    ? [pointReads(entities, onFailure)]
    : [];
}

/** One write of one entity and the upkeep of its indexes. It starts again after a conflict. */
function writingBeside(
  rowSets: RowSets,
  kind: WriteKind,
  changes: readonly string[] | undefined,
): Body {
  const { entities } = rowSets;
  const upkeep = upkeepOf(rowSets, changeOf(kind, changes));
  const rows = 1 + upkeep.rowsBeside;
  const attempts: Estimate = { ...once, worst: updateAttemptsMax };
  // A write must know the entity's old index values; an insert has none.
  const reads = kind === 'insert' ? { ...none, worst: updateAttemptsMax - 1 } : attempts;
  return {
    ...written,
    accesses: [
      pointReads(entities, reads),
      ...upkeep.before.map((each) => ({
        ...each,
        requests: { ...each.requests, worst: each.requests.worst * updateAttemptsMax },
        read: { ...each.read, worst: each.read.worst * updateAttemptsMax },
      })),
      accessOf(entities, rows > 1 ? 'transaction' : requestOf(kind), attempts, { written: rows }),
      ...upkeep.after,
    ],
    transactionRows: rows > 1 ? rows : 0,
  };
}

function updating(rowSets: RowSets, changes: readonly string[] | undefined): Body {
  const { entities, indexes } = rowSets;
  if (indexes.length > 0) return writingBeside(rowSets, 'replace', changes);
  const attempts: Estimate = { ...once, worst: updateAttemptsMax };
  return {
    ...written,
    accesses: [
      pointReads(entities, attempts),
      accessOf(entities, 'update', attempts, { written: 1 }),
    ],
    transactionRows: 0,
  };
}

function transacting(rowSets: RowSets, writes: number, kind: WriteKind): Body {
  const { entities } = rowSets;
  const upkeep = upkeepOf(rowSets, changeOf(kind, undefined));
  const rows = writes * (1 + upkeep.rowsBeside);
  const times = ({ requests, read, written, at, ...rest }: Access): Access => ({
    ...rest,
    requests: mapEstimate(requests, (count) => count * writes),
    read: mapEstimate(read, (count) => count * writes),
    written: mapEstimate(written, (count) => count * writes),
    at: (share) => at(share) * writes,
  });
  return {
    ...written,
    accesses: [
      ...upkeep.before.map(times),
      accessOf(entities, 'transaction', once, { written: rows }),
      ...lookAgain(entities, kind),
      ...upkeep.after.map(times),
    ],
    transactionRows: rows,
  };
}

function lookingUp(rowSets: RowSets, operation: AnyLookUp, targets: ServiceTargets): Body {
  const rowSet = rowSets.indexes.find(({ index }) => index?.name === operation.index);
  if (rowSet?.index === undefined) {
    throw new ValueError(
      `${rowSets.entities.definition.type} has no index '${operation.index}'; it has ` +
        (rowSets.indexes.map(({ index }) => index?.name).join(', ') || 'none'),
    );
  }
  const body =
    rowSet.index.kind === 'list'
      ? readingList(rowSets, rowSet, operation)
      : readingCopies(rowSets, rowSet, operation, targets);
  const { thenRead = rowSet.index.kind === 'list' } = operation;
  if (!thenRead) return body;
  // The index gives the keys of the entities; each is a point read.
  return { ...body, accesses: [...body.accesses, pointReads(rowSets.entities, body.returned)] };
}

function readingCopies(
  { facts }: RowSets,
  rowSet: RowSet,
  operation: AnyLookUp,
  targets: ServiceTargets,
): Body {
  if (operation.query === undefined) return readingOne(rowSet);
  return reading(rowSet, readingOfQuery({ rowSet, facts, targets }, operation.query, operation));
}

function readingList(rowSets: RowSets, rowSet: RowSet, operation: AnyLookUp): Body {
  const { take = Infinity, reads, returns } = operation;
  const told = reads === undefined ? listEntries(rowSet, rowSets) : exactly(reads);
  const found = returns === undefined ? told : exactly(returns);
  const list =
    rowSet.index?.place === 'blob'
      ? accessOf(undefined, 'blob', once)
      : pointReads(rowSet, listRequests(rowSet, rowSets));
  return {
    ...readingOne(rowSet),
    accesses: [list],
    returned: mapEstimate(found, (count) => Math.min(take, count)),
  };
}

/** The requests of an operation: those of the caller, of a worker, or both. */
export function requestsOf(
  { accesses }: OperationPlan,
  by: 'caller' | 'worker' | 'both' = 'both',
): Estimate {
  const asked = accesses.filter(({ isLater }) => by === 'both' || isLater === (by === 'worker'));
  return sumOf(asked.map(({ requests }) => requests));
}
