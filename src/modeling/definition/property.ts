import { DefinitionError } from '../rows/model-error.js';
import type { WireValue } from '../rows/row.js';
import { wireNameOf } from './wire-name.js';

/** The kinds of values. */
export type PropertyKind =
  | 'string'
  | 'int32'
  | 'int64'
  | 'double'
  | 'boolean'
  | 'guid'
  | 'binary'
  | 'instant'
  | 'dateTime'
  | 'enumeration'
  | 'json'
  | 'embedded'
  | 'list';

/** Attributes of a property besides its kind. */
export type PropertyFlag =
  'optional' | 'default' | 'computed' | 'readOnly' | 'encrypted' | 'stored';

/** Receives the stored form of a property. */
export interface WireWriter {
  put(name: string, wire: WireValue): void;
  /** The ticks that a value was read with, when its `Date` rounds them. */
  finer(name: string): bigint | undefined;
}

/** Provides the stored form of a property. */
export interface WireReader {
  get(name: string): WireValue | undefined;
  keepFiner(name: string, ticks: bigint): void;
}

/**
 * How values of a kind are stored. One value takes one stored property, or several whose names
 * begin with the given one.
 */
export interface ValueCodec {
  /** The stored names that a value under `name` may take. */
  wireNames(name: string): readonly string[];
  /** Further stored names that a read of the value needs when properties are selected. */
  readonly alsoReads?: readonly string[];
  /** Throws `ValueError`, without the property's name, for a value that it cannot hold. */
  write(name: string, value: unknown, writer: WireWriter): void;
  /** Undefined when nothing is stored. Throws `DecodeError` for a stored value of another form. */
  read(name: string, reader: WireReader): unknown;
}

export interface Computation {
  readonly from: Readonly<Record<string, AnyProperty>>;
  readonly compute: (values: Readonly<Record<string, unknown>>) => unknown;
}

/** The description of a property at run time. Immutable. */
export interface PropertyModel {
  readonly kind: PropertyKind;
  readonly codec: ValueCodec;
  /** Undefined: the name in the definition. */
  readonly wireName: string | undefined;
  readonly flags: ReadonlySet<PropertyFlag>;
  readonly defaultValue: (() => unknown) | undefined;
  readonly computation: Computation | undefined;
  /** The values of an enumeration, the properties of an embedded object. */
  readonly values?: readonly string[];
  readonly properties?: Readonly<Record<string, AnyProperty>>;
  /** Whether values may exceed the service's limits, because the table stores them in parts. */
  readonly isLarge?: boolean;
}

export interface PropertyTypes<K extends PropertyKind, V, F extends PropertyFlag> {
  readonly kind: K;
  readonly value: V;
  readonly flags: F;
}

/** A property of any kind. `~types` is never set; it carries the types. */
export interface AnyProperty {
  readonly model: PropertyModel;
  readonly '~types'?: PropertyTypes<PropertyKind, unknown, PropertyFlag>;
}

/** The properties of a definition, by their names in the program. */
export type Properties = Readonly<Record<string, AnyProperty>>;
export type KindOf<P extends AnyProperty> = NonNullable<P['~types']>['kind'];
export type ValueOf<P extends AnyProperty> = NonNullable<P['~types']>['value'];
export type FlagsOf<P extends AnyProperty> = NonNullable<P['~types']>['flags'];

/** The values that a computed property depends on. */
export type SourceValues<S extends Properties> = {
  readonly [N in keyof S]: 'optional' extends FlagsOf<S[N]>
    ? ValueOf<S[N]> | undefined
    : ValueOf<S[N]>;
};

/**
 * A property of an entity: its kind, the type `V` of its values, and its attributes. Each method
 * returns a new property.
 */
export interface Property<
  K extends PropertyKind,
  V,
  F extends PropertyFlag = never,
> extends AnyProperty {
  readonly '~types'?: PropertyTypes<K, V, F>;
  /**
   * May be absent. `null` and `undefined` are not stored: an insert or replace without the value
   * leaves the property out, and reading gives no such key. A merge cannot remove a property.
   */
  optional(): Property<K, V, F | 'optional'>;
  /**
   * The value, or the result of the function, when an insert has none (`undefined` or `null`; 0, ''
   * and false are values) and when a stored row lacks the property.
   */
  default(value: V | (() => V)): Property<K, V, F | 'default'>;
  /**
   * Computed from other properties of the entity at every insert and replace, and at a merge that
   * changes them, which must then have all of them. `from` names them with their kinds:
   * `string().computed({ email: string() }, ({ email }) => email.toLowerCase())`.
   */
  computed<S extends Properties>(
    from: S,
    compute: (values: SourceValues<S>) => V,
  ): Property<K, V, F | 'computed'>;
  /** Set by inserts and replaces; a merge refuses it. */
  readOnly(): Property<K, V, F | 'readOnly'>;
  /**
   * The name on the wire. Characters that the service forbids in names are written as `_xHHHH_`, so
   * `named('Manager Rating')` is stored as `Manager_x0020_Rating`.
   */
  named(wireName: string): Property<K, V, F>;
  /** Encrypted by the client; needs a table opened with encryption. Filters cannot use it. */
  encrypted(): Property<K, V, F | 'encrypted'>;
  /** Stored as a property although a key carries it, so that filters can use it. */
  stored(): Property<K, V, F | 'stored'>;
}

class PropertyValue<K extends PropertyKind, V, F extends PropertyFlag> implements Property<
  K,
  V,
  F
> {
  readonly model: PropertyModel;

  constructor(model: PropertyModel) {
    this.model = Object.freeze(model);
  }

  optional(): Property<K, V, F | 'optional'> {
    return this.#with('optional', {});
  }

  default(value: V | (() => V)): Property<K, V, F | 'default'> {
    const defaultValue = typeof value === 'function' ? (value as () => V) : () => value;
    return this.#with('default', { defaultValue });
  }

  computed<S extends Properties>(
    from: S,
    compute: (values: SourceValues<S>) => V,
  ): Property<K, V, F | 'computed'> {
    if (Object.keys(from).length === 0) {
      throw new DefinitionError('a computed property names what it is computed from');
    }
    const computation: Computation = {
      from,
      compute: (values) => compute(values as SourceValues<S>),
    };
    return this.#with('computed', { computation });
  }

  readOnly(): Property<K, V, F | 'readOnly'> {
    return this.#with('readOnly', {});
  }

  named(wireName: string): Property<K, V, F> {
    return new PropertyValue<K, V, F>({ ...this.model, wireName: wireNameOf(wireName) });
  }

  encrypted(): Property<K, V, F | 'encrypted'> {
    return this.#with('encrypted', {});
  }

  stored(): Property<K, V, F | 'stored'> {
    return this.#with('stored', {});
  }

  #with<A extends PropertyFlag>(
    flag: A,
    changes: Partial<PropertyModel>,
  ): PropertyValue<K, V, F | A> {
    const flags = new Set([...this.model.flags, flag]);
    return new PropertyValue<K, V, F | A>({ ...this.model, ...changes, flags });
  }
}

/** Makes a property from a kind and a codec, for kinds that this library does not have. */
export function propertyOf<K extends PropertyKind, V>(
  kind: K,
  codec: ValueCodec,
  details: Pick<PropertyModel, 'values' | 'properties' | 'isLarge'> = {},
): Property<K, V> {
  return new PropertyValue<K, V, never>({
    kind,
    codec,
    wireName: undefined,
    flags: new Set(),
    defaultValue: undefined,
    computation: undefined,
    ...details,
  });
}
