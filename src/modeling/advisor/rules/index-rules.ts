import { rowBytesMax } from '../../rows/row-size.js';
import type { ResolvedIndex } from '../../patterns/indexes/with-indexes.js';
import { unreachable } from '../../../base/invariant.js';
import type { Advice } from '../findings/advice.js';
import { finding, type Finding } from '../findings/finding.js';
import { listEntries, upkeepOf } from '../plans/index-upkeep.js';
import { changeOf } from '../plans/operation-plan.js';
import type { AnyOperation, WriteKind } from '../facts/workload.js';
import { listSize } from '../plans/list-size.js';
import { spreadOfIndexed, type RowSet, type RowSets } from '../plans/row-set.js';
import { shapeOf } from '../sizes/stored-shape.js';

/** An index is unselective when a value leaves this share of the rows, or more. */
const unselectiveShare = 0.1;
/** With one value on this share of the rows, an index is a second table. */
const skewedShare = 0.9;

/** Indexes that cost more than they help. */
export function indexFindings(advice: Advice): readonly Finding[] {
  return advice.rowSets.indexes.flatMap((rowSet) => {
    const { index } = rowSet;
    if (index === undefined) return [];
    return [
      ...valueFindings(advice, rowSet, index),
      ...listFindings(advice, rowSet, index),
      ...useFindings(advice, rowSet, index),
    ];
  });
}

function valueFindings(
  { rowSets, targets }: Advice,
  rowSet: RowSet,
  index: ResolvedIndex,
): readonly Finding[] {
  const { entities, facts } = rowSets;
  const spread = spreadOfIndexed(index, entities.definition, facts);
  if (spread === undefined) return [];
  const { values, greatest, typical, first } = spread;
  if (greatest >= skewedShare && values > 1) {
    const value = first === undefined ? 'One value' : `'${first}'`;
    const figures = { value, share: greatest, rows: rowSet.rows * greatest };
    return [finding('warning', 'skewed-index', rowSet.name, figures)];
  }
  if (typical < unselectiveShare) return [];
  const rowsPerLookUp = entities.rows * typical;
  const severity = rowsPerLookUp > targets.pageEntities ? 'warning' : 'info';
  const figures = { values, share: typical, rowsPerLookUp };
  return [finding(severity, 'unselective-index', rowSet.name, figures)];
}

function listFindings(
  { rowSets }: Advice,
  rowSet: RowSet,
  index: ResolvedIndex,
): readonly Finding[] {
  if (index.kind !== 'list' || index.place === 'blob') return [];
  const entries = listEntries(rowSet, rowSets).worst;
  const { bytes } = listSize(index, rowSet, rowSets.entities, entries);
  if (bytes <= rowBytesMax) return [];
  return [
    finding('warning', 'large-index-row', rowSet.name, { entries, bytes, limit: rowBytesMax }),
  ];
}

function useFindings(
  { rowSets, plans }: Advice,
  rowSet: RowSet,
  index: ResolvedIndex,
): readonly Finding[] {
  const lookUps = plans.reduce(
    (sum, { operation }) =>
      operation.kind === 'look-up' && operation.index === index.name
        ? sum + operation.perSecond
        : sum,
    0,
  );
  if (lookUps === 0) {
    const writesPerSecond = plans.reduce(
      (sum, { operation }) => sum + operation.perSecond * rowsWritten(rowSets, rowSet, operation),
      0,
    );
    const figures = { writesPerSecond, bytes: rowSet.rows * rowSet.size.bytes.average };
    return [finding('info', 'unused-index', rowSet.name, figures)];
  }
  return copyFindings(rowSets.entities, plans, rowSet, index, lookUps);
}

/** Rows of one index that an operation writes. */
function rowsWritten(rowSets: RowSets, rowSet: RowSet, operation: AnyOperation): number {
  const of = (kind: WriteKind, changes?: readonly string[]): number => {
    const upkeep = upkeepOf({ ...rowSets, indexes: [rowSet] }, changeOf(kind, changes));
    if (rowSet.index?.place === 'same-partition') return upkeep.rowsBeside;
    return upkeep.after
      .filter((accessOf) => accessOf.rowSet === rowSet)
      .reduce((sum, { written }) => sum + written.expected, 0);
  };
  switch (operation.kind) {
    case 'insert':
    case 'replace':
    case 'merge':
    case 'upsert':
    case 'delete':
      return of(operation.kind, operation.changes);
    case 'update':
      return of('replace', operation.changes);
    case 'transaction':
      return operation.writes * of(operation.of ?? 'insert');
    case 'get':
    case 'query':
    case 'scan':
    case 'look-up':
      return 0;
    default:
      return unreachable(operation);
  }
}

/** Copies of entities that change more often than the copies are read. */
function copyFindings(
  entities: RowSet,
  plans: Advice['plans'],
  rowSet: RowSet,
  index: ResolvedIndex,
  lookUpsPerSecond: number,
): readonly Finding[] {
  if (index.kind === 'list') return [];
  const own = new Set(shapeOf(entities.definition).stored);
  const copies = shapeOf(rowSet.definition).stored.filter((name) => own.has(name));
  const changesPerSecond = plans.reduce(
    (sum, { operation }) => sum + changesOf(operation, copies),
    0,
  );
  if (copies.length === 0 || changesPerSecond <= lookUpsPerSecond) return [];
  const figures = { changesPerSecond, lookUpsPerSecond, copied: copies.length };
  return [finding('warning', 'volatile-copy', rowSet.name, figures)];
}

function changesOf(operation: AnyOperation, names: readonly string[]): number {
  switch (operation.kind) {
    case 'replace':
    case 'merge':
    case 'upsert':
    case 'update': {
      const { changes = names, perSecond } = operation;
      return changes.some((name) => names.includes(name)) ? perSecond : 0;
    }
    case 'transaction': {
      const { of: kind = 'insert', perSecond, writes } = operation;
      return kind === 'insert' || kind === 'delete' ? 0 : perSecond * writes;
    }
    default:
      return 0;
  }
}
