import type { AnyDefinition, EntityDefinition } from '../../definition/entity-definition.js';
import type { ItemField, KeyableKind, KeyFieldOf, KeyPart } from '../../definition/key-part.js';
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
 * The properties that the key of an index can use: those with an order that are not encrypted and,
 * unless the index is sparse, never absent.
 */
export type IndexFields<D extends AnyDefinition, S extends boolean> = {
  readonly [
    N in NamesOf<D> as KindOf<D['properties'][N]> extends KeyableKind
      ? [Extract<FlagsOf<D['properties'][N]>, Unindexable<S>>] extends [never]
        ? N
        : never
      : never
  ]: KeyFieldOf<N, D['properties'][N]>;
};

/**
 * The properties that hold several texts or several whole numbers, such as `list<string>()` and
 * `list<number>()`.
 */
export type ItemListNames<D extends AnyDefinition> = {
  [N in NamesOf<D>]: [ValueOf<D['properties'][N]>] extends [readonly string[] | readonly number[]]
    ? N
    : never;
}[NamesOf<D>];

/** The name of an item in the index, and the name of its list: `{ actor: 'actors' }`. */
export type Each<D extends AnyDefinition> = Readonly<
  Record<
    string,
    [ItemListNames<D>] extends [never]
      ? 'The definition has no list of texts or of whole numbers'
      : ItemListNames<D>
  >
>;

/** The field of an item of the list of this name. */
type FieldOfItem<D extends AnyDefinition, N extends string, L> =
  L extends NamesOf<D> ? ItemField<N, ValueOf<D['properties'][L]>> : never;

/** Makes the key of an index. */
export type IndexTemplate<
  D extends AnyDefinition,
  S extends boolean,
  T extends KeyTemplate,
  E = unknown,
> = (
  fields: IndexFields<D, S> & { readonly [N in keyof E & string]: FieldOfItem<D, N, E[N]> },
) => T;

/** Which entities an index contains. */
export interface IndexScope<D extends AnyDefinition, S extends boolean, E = unknown> {
  /**
   * A row for each item of a list instead of one for the entity: `{ actor: 'actors' }` gives the
   * key a text `actor`, which it must use, and `{ year: 'years' }` a number `year`, for a list of
   * 32-bit whole numbers: `p.year.padded(4)`. Entities whose list is absent or empty are not in the
   * index.
   */
  readonly each?: E;
  /**
   * `true`: the key may use optional properties, and entities that lack one of them are not in the
   * index. 0, '' and false are values.
   */
  readonly sparse?: S;
  /** Only entities for which this returns true are in the index. It must depend on nothing else. */
  readonly when?: (entity: ReadOf<D>) => boolean;
}

/**
 * Where the rows of an index are: in the partition of the entity, where they change together with
 * it; in other partitions of its table; or in another table.
 */
export type RowPlace = 'same-partition' | 'other-partition' | 'other-table';

interface Declared<D extends AnyDefinition> {
  readonly isSparse: boolean;
  readonly when: ((entity: ReadOf<D>) => boolean) | undefined;
  readonly each: Readonly<Record<string, string>> | undefined;
  /** Never set; carries the type. */
  readonly '~of'?: (definition: D) => void;
}

/** An index of copies of the entities, whole or in part, under another key. */
export interface CopyIndex<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  N extends string,
  Place extends RowPlace,
> extends Declared<D> {
  readonly kind: 'copy';
  readonly place: Place;
  /** Undefined: the PartitionKey of the entity. */
  readonly partitionKey: ((fields: never) => PK) | undefined;
  readonly rowKey: (fields: never) => RK;
  readonly include: readonly N[] | 'all';
}

/** An index with one list for each value: the keys of the entities with that value. */
export interface ListIndex<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  Place extends RowPlace | 'blob',
> extends Declared<D> {
  readonly kind: 'list';
  readonly place: Place;
  /** Undefined: the PartitionKey of the entity. */
  readonly partitionKey: ((fields: never) => PK) | undefined;
  /** For a blob, its name. */
  readonly rowKey: (fields: never) => RK;
  /** Stored name of the property with the keys. */
  readonly listName: string;
  /** UTF-16 code units of a list per row. */
  readonly unitsMax: number;
}

/** An index of any kind. */
export type AnyIndex<D extends AnyDefinition> =
  | CopyIndex<D, KeyTemplate, KeyTemplate, string, RowPlace>
  | ListIndex<D, KeyTemplate, KeyTemplate, RowPlace | 'blob'>;

/** Indexes by their names. */
export type AnyIndexes<D extends AnyDefinition> = Readonly<Record<string, AnyIndex<D>>>;

/**
 * A property of an index row: the value of an entity's property without attributes that hold only
 * for the entity.
 */
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
  readonly [K in N | KeyNames<D> | PartNames<PK> | PartNames<RK>]: RowPropertyOf<
    D,
    PK | RK,
    K,
    // A value in a key is never absent.
    K extends PartNames<PK> | PartNames<RK> ? 'optional' | 'default' : never
  >;
};

/** A property of the entity, or an item of its list, of the type that it has in the keys. */
type RowPropertyOf<
  D extends AnyDefinition,
  T extends KeyTemplate,
  K,
  Dropped extends PropertyFlag,
> =
  K extends NamesOf<D>
    ? IndexPropertyOf<D['properties'][K], Dropped>
    : [Extract<T['parts'][number], KeyPart<K & string, number>>] extends [never]
      ? IndexProperty<'string', string, never>
      : IndexProperty<'int32', number, never>;

/** The definition of an index's rows: the included properties, and those in either key. */
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
            readonly [K in PartNames<PK> | PartNames<RK>]: RowPropertyOf<
              D,
              PK | RK,
              K,
              'optional' | 'default'
            >;
          },
          PK,
          RK
        >
      : never;
