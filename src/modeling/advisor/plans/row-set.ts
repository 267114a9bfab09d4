import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { ResolvedIndex } from '../../patterns/indexes/with-indexes.js';
import { ValueError } from '../../rows/model-error.js';
import { entitySize, type EntitySize } from '../sizes/entity-size.js';
import { combined, limited, spreadOfKeys, valuesOf } from '../facts/key-spread.js';
import type { FactsByName } from '../facts/property-facts.js';
import { spreadOf, type Spread } from '../facts/spread.js';
import { uniform } from '../facts/distribution.js';
import { shapeOf } from '../sizes/stored-shape.js';
import type { AnyWorkload } from '../facts/workload.js';

/** The rows of a definition: its entities, or one of its indexes. */
export interface RowSet {
  /** The name in reports: the type, or `index 'email'`. */
  readonly name: string;
  /** The definition of the rows. */
  readonly definition: AnyDefinition;
  readonly rows: number;
  readonly size: EntitySize;
  /** Over PartitionKeys. */
  readonly partitions: Spread;
  /** Undefined for the entities. */
  readonly index: ResolvedIndex | undefined;
  /** Rows of all row sets in its partitions, per row of this set. */
  readonly density: number;
  /** Rows that a scan of the set reads; for entities, all rows of their table. */
  readonly tableRows: number;
}

/** The subject of the advice: a definition, its indexes and the known facts about the rows. */
export interface RowSets {
  readonly entities: RowSet;
  readonly indexes: readonly RowSet[];
  readonly facts: FactsByName;
}

export function rowSetsOf(
  definition: AnyDefinition,
  indexes: readonly ResolvedIndex[],
  workload: AnyWorkload,
): RowSets {
  const facts = workload.properties ?? {};
  const { rows } = workload;
  const alone: RowSet = {
    name: definition.type,
    definition,
    rows,
    size: entitySize(shapeOf(definition), facts),
    partitions: partitionsOf(definition, workload),
    index: undefined,
    density: 1,
    tableRows: rows,
  };
  const found = indexes.map((index) => indexRowSet(index, alone, facts));
  const rowsIn = (...places: readonly string[]): number =>
    found
      .filter(({ index }) => places.includes(index?.place ?? ''))
      .reduce((sum, rowSet) => sum + rowSet.rows, rows);
  const beside = rowsIn('same-partition');
  const inTable = rowsIn('same-partition', 'other-partition');
  const shared = (rowSet: RowSet): RowSet => {
    const { index } = rowSet;
    const isBeside = index === undefined || index.place === 'same-partition';
    return {
      ...rowSet,
      density: isBeside && rowSet.rows > 0 ? beside / rowSet.rows : 1,
      tableRows: index === undefined ? inTable : rowSet.rows,
    };
  };
  return { entities: shared(alone), indexes: found.map(shared), facts };
}

function partitionsOf(definition: AnyDefinition, workload: AnyWorkload): Spread {
  const { partitions, properties = {}, rows } = workload;
  if (partitions !== undefined) return spreadOf(partitions);
  const spread = spreadOfKeys(definition.partitionKey, definition.properties, properties);
  if (spread !== undefined) return limited(spread, rows);
  throw new ValueError(
    `${definition.type}: the workload does not tell how rows spread over PartitionKeys; give ` +
      '`partitions`, such as uniform(40), zipf(1000, 1) or counts({ Sales: 500, Marketing: 80 })',
  );
}

function indexRowSet(index: ResolvedIndex, entities: RowSet, facts: FactsByName): RowSet {
  const { definition } = index;
  const { properties } = definition;
  // Entities that lack a required property have no index row.
  const present = index.needed.reduce((share, name) => share * (facts[name]?.present ?? 1), 1);
  const found = entities.rows * present * textsOf(index, facts);
  const known = withTexts(index, facts);
  const keys = spreadOfKeys(definition.rowKey, properties, known);
  const isBeside = index.place === 'same-partition';
  const partitions = isBeside
    ? entities.partitions
    : // The values of a key of which nothing is known are assumed to differ.
      limited(
        spreadOfKeys(definition.partitionKey, properties, known) ??
          spreadOf(uniform(Math.max(1, Math.round(found)))),
        found,
      );
  const lists = Math.min(found, partitions.values * (keys?.values ?? Infinity));
  return {
    name: `index '${index.name}'`,
    definition,
    rows: index.kind === 'list' ? lists : found,
    size: entitySize(shapeOf(definition), facts),
    partitions,
    index,
    density: 1,
    tableRows: 0,
  };
}

/**
 * The number of rows of an entity in an index: for an index with `each`, one for each item of the
 * list.
 */
export function textsOf({ each }: ResolvedIndex, facts: FactsByName): number {
  return each === undefined ? 1 : (facts[each.list]?.items ?? 1);
}

/** The facts with the values of the items, which the workload gives for the list. */
function withTexts({ each }: ResolvedIndex, facts: FactsByName): FactsByName {
  const values = each === undefined ? undefined : facts[each.list]?.values;
  return each === undefined || values === undefined ? facts : { ...facts, [each.item]: { values } };
}

/**
 * The properties by which an index is looked up: those of its keys that are not keys of the entity.
 */
export function indexedNames(index: ResolvedIndex, entity: AnyDefinition): readonly string[] {
  const own = new Set(
    [...entity.partitionKey.parts, ...entity.rowKey.parts].map(({ property }) => property),
  );
  return index.needed.filter((name) => !own.has(name));
}

/** The spread of the values that an index is looked up by; undefined: all differ. */
export function spreadOfIndexed(
  index: ResolvedIndex,
  entity: AnyDefinition,
  facts: FactsByName,
): Spread | undefined {
  let all: Spread | undefined;
  for (const name of indexedNames(index, entity)) {
    const values = valuesOf(name, entity.properties[name], facts);
    if (values === undefined) return undefined;
    all = all === undefined ? spreadOf(values) : combined(all, spreadOf(values));
  }
  return all;
}
