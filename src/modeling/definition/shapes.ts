import type { KeyPart } from './key-part.js';
import type { KeyTemplate } from './key-template.js';
import type { FlagsOf, KindOf, Properties, ValueOf } from './property.js';

/**
 * The types that follow from a definition, each mapped in one step so that editors show members.
 */

/** The empty object at the end makes editors show the members instead of this name. */
type Flat<T> = { readonly [N in keyof T]: T[N] } & {};

/** The parts of a definition that these types need. */
export interface Shaped {
  readonly properties: Properties;
  readonly partitionKey: KeyTemplate;
  readonly rowKey: KeyTemplate;
}

type NamesWith<P extends Properties, F> = {
  [N in keyof P]: F extends FlagsOf<P[N]> ? N : never;
}[keyof P];

type NamesWithAny<P extends Properties, F> = {
  [N in keyof P]: [Extract<FlagsOf<P[N]>, F>] extends [never] ? never : N;
}[keyof P];

type Names<P extends Properties> = keyof P & string;

/** The names of the properties in a key. */
export type PartNames<T extends KeyTemplate> = T['parts'][number]['property'];

/** The names of the properties that the keys of a definition carry. */
export type KeyNames<D extends Shaped> = PartNames<D['partitionKey']> | PartNames<D['rowKey']>;

export type ReadShape<P extends Properties> = Flat<
  { readonly [N in Exclude<Names<P>, NamesWith<P, 'optional'>>]: ValueOf<P[N]> } & {
    readonly [N in NamesWith<P, 'optional'> & string]?: ValueOf<P[N]> | undefined;
  }
>;

export type CreateShape<P extends Properties> = Flat<
  {
    readonly [
      N in Exclude<Names<P>, NamesWithAny<P, 'optional' | 'default' | 'computed'>>
    ]: ValueOf<P[N]>;
  } & {
    readonly [
      N in Exclude<NamesWithAny<P, 'optional' | 'default'>, NamesWith<P, 'computed'>> & string
    ]?: ValueOf<P[N]> | null | undefined;
  }
>;

/**
 * Input of an insert: no computed properties; optional ones and ones with defaults may be absent.
 */
export type CreateOf<D extends Shaped> = CreateShape<D['properties']>;

/** Result of a read: every property; only optional ones may be absent. */
export type ReadOf<D extends Shaped> = ReadShape<D['properties']>;

/**
 * A result `R` of a function, when it has no names but those of the entity: the compiler checks
 * other names in arguments, not in what functions return.
 */
export type OnlyRead<D extends Shaped, R> = R & {
  readonly [N in Exclude<keyof R & string, keyof ReadOf<D>>]: never;
};

type IsNever<T> = [T] extends [never] ? true : false;

/**
 * Input of a merge: properties that are neither in keys, read-only nor computed. Absent and
 * `undefined` both mean unchanged: a merge cannot remove a property. `MergeRefused` for a
 * definition with encrypted properties, because a merge would lose their key.
 */
export type MergeOf<D extends Shaped> =
  IsNever<NamesWith<D['properties'], 'encrypted'>> extends true
    ? {
        readonly [
          N in Exclude<
            Names<D['properties']>,
            KeyNames<D> | NamesWithAny<D['properties'], 'readOnly' | 'computed'>
          >
        ]?: ValueOf<D['properties'][N]> | undefined;
      }
    : MergeRefused<'a merge would lose the key of the encrypted properties: use update or replace'>;

/**
 * Copied properties: neither in keys, read-only nor computed. Undefined leaves out an optional one;
 * an absent name leaves the property as it is.
 */
export type CopiedOf<D extends Shaped> = Partial<
  Omit<ReadOf<D>, KeyNames<D> | (NamesWithAny<D['properties'], 'readOnly' | 'computed'> & string)>
>;

declare const refused: unique symbol;

/**
 * A type without values. The compiler's message shows its parameter, which says why and what to do
 * instead.
 */
export type MergeRefused<Reason extends string> = { readonly [refused]: Reason };

type PickedShape<P extends Properties, N extends string> = Flat<{
  readonly [M in N & Names<P>]: ValueOf<P[M]>;
}>;

/** The values that make an entity's keys. */
export type KeyOf<D extends Shaped> = PickedShape<D['properties'], KeyNames<D>>;

/** The values that make the PartitionKey. */
export type PartitionOf<D extends Shaped> = PickedShape<
  D['properties'],
  PartNames<D['partitionKey']>
>;

type Leading<P extends readonly KeyPart[]> = P extends readonly [
  KeyPart<infer N, infer V>,
  ...infer Rest extends readonly KeyPart[],
]
  ? | { readonly [K in P[number]['property']]?: never }
    | Flat<{ readonly [K in N]: V } & Leading<Rest>>
  : unknown;

type Prefix<P extends readonly KeyPart[]> = P extends readonly []
  ? Readonly<Record<string, never>>
  : Leading<P>;

/** Values for the leading parts of the RowKey, in order: a later one needs those before it. */
export type RowKeyPrefixOf<D extends Shaped> = Prefix<D['rowKey']['parts']>;

/** Values for the leading parts of the PartitionKey, in order. */
export type PartitionKeyPrefixOf<D extends Shaped> = Prefix<D['partitionKey']['parts']>;

/**
 * The properties with numbers that are not in the keys. Types that are not known yet count as
 * numbers, because TypeScript looks up names before it knows the definition.
 */
export type NumberNames<D extends Shaped> = {
  [N in Names<D['properties']>]: unknown extends ValueOf<D['properties'][N]>
    ? N
    : [ValueOf<D['properties'][N]>] extends [number | bigint]
      ? N
      : never;
}[Names<D['properties']>];

type Opaque = 'json' | 'list';

/**
 * The names that a filter can use: properties stored as values of their own, not encrypted.
 * Properties that only keys carry are queried through the keys.
 */
export type FilterNames<D extends Shaped> = Exclude<
  Names<D['properties']>,
  | NamesWith<D['properties'], 'encrypted'>
  | Exclude<KeyNames<D>, NamesWith<D['properties'], 'stored'>>
  | {
      [N in Names<D['properties']>]: KindOf<D['properties'][N]> extends Opaque ? N : never;
    }[Names<D['properties']>]
>;

/**
 * A property that no filter can use. The compiler's message shows its parameter, which says why and
 * what to do instead.
 */
export type FilterRefused<Reason extends string> = { readonly [refused]: Reason };

/** The properties that filters cannot use, each with the reason. */
export type FiltersRefused<D extends Shaped> = {
  readonly [N in Exclude<Names<D['properties']>, FilterNames<D>>]: FilterRefused<
    N extends NamesWith<D['properties'], 'encrypted'>
      ? 'it is encrypted'
      : KindOf<D['properties'][N]> extends Opaque
        ? 'it is stored as JSON or as a list'
        : 'only the keys carry it: bound the query by them, or declare it stored()'
  >;
};
