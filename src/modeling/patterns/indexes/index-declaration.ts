import type { AnyDefinition, EntityDefinition } from '../../definition/entity-definition.js';
import type { KeyFieldOf } from '../../definition/key-part.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type {
  AnyProperty,
  FlagsOf,
  KindOf,
  PropertyFlag,
  PropertyKind,
  PropertyTypes,
  ValueOf,
} from '../../definition/property.js';
import type { KeyNames, PartNames, ReadOf } from '../../definition/shapes.js';

/** The names of a definition's properties. */
export type NamesOf<D extends AnyDefinition> = keyof D['properties'] & string;

type Unindexable<S extends boolean> = S extends true ? 'encrypted' : 'encrypted' | 'optional';

/**
 * What the key of an index can use: properties that have an order, are not encrypted and, unless
 * the index is sparse, are never absent.
 */
export type IndexFields<D extends AnyDefinition, S extends boolean> = {
  readonly [
    N in NamesOf<D> as [Extract<FlagsOf<D['properties'][N]>, Unindexable<S>>] extends [never]
      ? N
      : never
  ]: KeyFieldOf<N, D['properties'][N]>;
};

/** How the key of an index is made. */
export type IndexTemplate<D extends AnyDefinition, S extends boolean, T extends KeyTemplate> = (
  fields: IndexFields<D, S>,
) => T;

/** Which entities an index has. */
export interface IndexScope<D extends AnyDefinition, S extends boolean> {
  /**
   * `true`: the key may use optional properties, and an entity that lacks one of them is not in the
   * index. 0, '' and false are values: an entity that has them is.
   */
  readonly sparse?: S;
  /** Only entities for which this holds are in the index. It must depend on nothing else. */
  readonly when?: (entity: ReadOf<D>) => boolean;
}

/**
 * Where the rows of an index are: in the entity's own partition, where they change together with
 * it; in other partitions of its table; in a table of their own.
 */
export type RowPlace = 'same-partition' | 'other-partition' | 'other-table';

interface Declared<D extends AnyDefinition> {
  readonly isSparse: boolean;
  readonly when: ((entity: ReadOf<D>) => boolean) | undefined;
  /** Never there: carries the type. */
  readonly '~of'?: (definition: D) => void;
}

/** An index whose rows are copies of the entities, whole or in part, under another key. */
export interface CopyIndex<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  N extends string,
  Place extends RowPlace,
> extends Declared<D> {
  readonly kind: 'copy';
  readonly place: Place;
  /** Undefined: that of the entity. */
  readonly partitionKey: ((fields: never) => PK) | undefined;
  readonly rowKey: (fields: never) => RK;
  readonly include: readonly N[] | 'all';
}

/** An index with one list for each value: the keys of the entities that have it. */
export interface ListIndex<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  Place extends RowPlace | 'blob',
> extends Declared<D> {
  readonly kind: 'list';
  readonly place: Place;
  /** Undefined: that of the entity. */
  readonly partitionKey: ((fields: never) => PK) | undefined;
  /** Of a blob: its name. */
  readonly rowKey: (fields: never) => RK;
  /** Stored name of the property with the keys. */
  readonly listName: string;
  /** UTF-16 code units of a list that one row holds. */
  readonly unitsMax: number;
}

/** An index of whatever kind. */
export type AnyIndex<D extends AnyDefinition> =
  | CopyIndex<D, KeyTemplate, KeyTemplate, string, RowPlace>
  | ListIndex<D, KeyTemplate, KeyTemplate, RowPlace | 'blob'>;

/** Indexes by their names. */
export type AnyIndexes<D extends AnyDefinition> = Readonly<Record<string, AnyIndex<D>>>;

/** A property as an index has it: its value, without what only the entity itself promises. */
export interface IndexProperty<
  K extends PropertyKind,
  V,
  F extends PropertyFlag,
> extends AnyProperty {
  readonly '~types'?: PropertyTypes<K, V, F>;
}

type IndexPropertyOf<P extends AnyProperty, Dropped extends PropertyFlag> = IndexProperty<
  KindOf<P>,
  ValueOf<P>,
  Exclude<FlagsOf<P>, Dropped | 'computed' | 'readOnly'>
>;

type IndexProperties<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  N extends string,
> = {
  readonly [K in (N | KeyNames<D> | PartNames<PK> | PartNames<RK>) & NamesOf<D>]: IndexPropertyOf<
    D['properties'][K],
    // What a key carries is never absent.
    K extends PartNames<PK> | PartNames<RK> ? 'optional' | 'default' : never
  >;
};

/** The definition of an index's rows: the properties it includes, and all that make both keys. */
export type IndexDefinition<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  N extends string,
> = EntityDefinition<string, IndexProperties<D, PK, RK, N>, PK, RK>;

/** The definition of the rows of a declared index. */
export type DefinitionOf<D extends AnyDefinition, I> =
  I extends CopyIndex<D, infer PK, infer RK, infer N, RowPlace>
    ? IndexDefinition<D, PK, RK, N>
    : I extends ListIndex<D, infer PK, infer RK, RowPlace | 'blob'>
      ? EntityDefinition<
          string,
          {
            readonly [K in (PartNames<PK> | PartNames<RK>) & NamesOf<D>]: IndexPropertyOf<
              D['properties'][K],
              'optional' | 'default'
            >;
          },
          PK,
          RK
        >
      : never;
