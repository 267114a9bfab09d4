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
  return advice.places.indexes.flatMap((place) => {
    const { index } = place;
    if (index === undefined) return [];
    return [
      ...valueFindings(advice, place, index),
      ...listFindings(advice, place, index),
      ...useFindings(advice, place, index),
    ];
  });
}

function valueFindings(
  { places, targets }: Advice,
  place: RowSet,
  index: ResolvedIndex,
): readonly Finding[] {
  const { entities, facts } = places;
  const spread = spreadOfIndexed(index, entities.definition, facts);
  if (spread === undefined) return [];
  const { values, greatest, typical, first } = spread;
  if (greatest >= skewedShare && values > 1) {
    const value = first === undefined ? 'One value' : `'${first}'`;
    const figures = { value, share: greatest, rows: place.rows * greatest };
    return [finding('warning', 'skewed-index', place.name, figures)];
  }
  if (typical < unselectiveShare) return [];
  const rowsPerLookUp = entities.rows * typical;
  const severity = rowsPerLookUp > targets.pageEntities ? 'warning' : 'info';
  const figures = { values, share: typical, rowsPerLookUp };
  return [finding(severity, 'unselective-index', place.name, figures)];
}

function listFindings({ places }: Advice, place: RowSet, index: ResolvedIndex): readonly Finding[] {
  if (index.kind !== 'list' || index.place === 'blob') return [];
  const entries = listEntries(place, places).worst;
  const { bytes } = listSize(index, place, places.entities, entries);
  if (bytes <= rowBytesMax) return [];
  return [
    finding('warning', 'large-index-row', place.name, { entries, bytes, limit: rowBytesMax }),
  ];
}

function useFindings(
  { places, plans }: Advice,
  place: RowSet,
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
      (sum, { operation }) => sum + operation.perSecond * rowsWritten(places, place, operation),
      0,
    );
    const figures = { writesPerSecond, bytes: place.rows * place.size.bytes.average };
    return [finding('info', 'unused-index', place.name, figures)];
  }
  return copyFindings(places.entities, plans, place, index, lookUps);
}

/** Rows of one index that an operation writes. */
function rowsWritten(places: RowSets, place: RowSet, operation: AnyOperation): number {
  const of = (kind: WriteKind, changes?: readonly string[]): number => {
    const upkeep = upkeepOf({ ...places, indexes: [place] }, changeOf(kind, changes));
    if (place.index?.place === 'same-partition') return upkeep.rowsBeside;
    return upkeep.after
      .filter((accessOf) => accessOf.place === place)
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
  place: RowSet,
  index: ResolvedIndex,
  lookUpsPerSecond: number,
): readonly Finding[] {
  if (index.kind === 'list') return [];
  const own = new Set(shapeOf(entities.definition).stored);
  const copies = shapeOf(place.definition).stored.filter((name) => own.has(name));
  const changesPerSecond = plans.reduce(
    (sum, { operation }) => sum + changesOf(operation, copies),
    0,
  );
  if (copies.length === 0 || changesPerSecond <= lookUpsPerSecond) return [];
  const figures = { changesPerSecond, lookUpsPerSecond, copied: copies.length };
  return [finding('warning', 'volatile-copy', place.name, figures)];
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
