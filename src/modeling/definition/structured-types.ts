import { isRecord } from '../../base/record.js';
import { jsonTextOf } from '../rows/json-text.js';
import { DecodeError, ModelError, ValueError } from '../rows/model-error.js';
import { stringUnitsMax } from '../rows/row-size.js';
import type { WireValue } from '../rows/row.js';
import {
  propertyOf,
  type AnyProperty,
  type FlagsOf,
  type Properties,
  type Property,
  type ValueCodec,
  type ValueOf,
} from './property.js';
import { textOfIssues, type StandardSchema } from './standard-schema.js';
import { refuseUnknownNames } from './unknown-name.js';

/** Values of JSON. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };

function validated(schema: StandardSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise) {
    throw new ValueError('its validator is asynchronous; only synchronous ones can be used');
  }
  if (result.issues !== undefined) throw new ValueError(textOfIssues(result.issues));
  return result.value;
}

type Check = (value: unknown) => unknown;

/** Runs a validator; undefined without one. */
export function checkOf(schema: StandardSchema | undefined): Check | undefined {
  return schema === undefined ? undefined : (value) => validated(schema, value);
}

/**
 * A codec of values stored as JSON text of at most `unitsMax` UTF-16 code units. `check` runs on
 * the parsed text, on write and on read.
 */
export function jsonCodec(check: Check | undefined, unitsMax: number = stringUnitsMax): ValueCodec {
  return {
    wireNames: (name) => [name],
    write: (name, value, writer) => {
      const text = jsonTextOf(value, 'value');
      if (text.length > unitsMax) {
        throw new ValueError(
          `its JSON has ${text.length} UTF-16 code units, more than ${unitsMax}; ` +
            'the pattern for large entities stores it',
        );
      }
      check?.(JSON.parse(text));
      writer.put(name, { type: 'String', value: text });
    },
    read: (name, reader) => {
      const wire = reader.get(name);
      return wire === undefined ? undefined : readJson(wire, check);
    },
  };
}

function readJson(wire: WireValue, check: Check | undefined): unknown {
  if (wire.type !== 'String') throw new DecodeError(`stored as ${wire.type} instead of JSON`);
  let value: unknown;
  try {
    value = JSON.parse(wire.value);
  } catch (cause) {
    throw new DecodeError('the stored text is no JSON', { cause });
  }
  try {
    return check === undefined ? value : check(value);
  } catch (cause) {
    if (!(cause instanceof ModelError)) throw cause;
    throw new DecodeError(`the stored JSON is refused: ${cause.message}`, { cause });
  }
}

/**
 * A value stored as JSON text. The validator, any that implements Standard Schema, gives the type
 * and checks the parsed JSON on write and on read; one that transforms must accept the JSON of its
 * own output.
 */
export function json<Output>(schema: StandardSchema<Output>): Property<'json', Output>;
/** A value stored as JSON text, unchecked. `null` counts as absent. */
export function json<T = NonNullable<JsonValue>>(): Property<'json', T>;
export function json(schema?: StandardSchema): Property<'json', unknown> {
  return propertyOf('json', jsonCodec(checkOf(schema)));
}

/** A list stored as JSON text; the validator checks each item. */
export function list<Item>(item: StandardSchema<Item>): Property<'list', readonly Item[]>;
/** A list stored as JSON text, its items unchecked. */
export function list<Item = JsonValue>(): Property<'list', readonly Item[]>;
export function list(item?: StandardSchema): Property<'list', readonly unknown[]> {
  return propertyOf(
    'list',
    jsonCodec((value) => {
      if (!Array.isArray(value)) throw new ValueError('the value is no list');
      return value.map((each: unknown) => validated(item, each));
    }),
  );
}

/** Properties of an embedded object: no defaults, and neither computed, encrypted nor in keys. */
export type EmbeddedProperties = Readonly<Record<string, EmbeddedProperty>>;
export interface EmbeddedProperty extends AnyProperty {
  readonly '~types'?: {
    readonly kind: Exclude<NonNullable<AnyProperty['~types']>['kind'], 'embedded'>;
    readonly value: unknown;
    readonly flags: 'optional';
  };
}

type OptionalNames<P extends Properties> = {
  [N in keyof P]: 'optional' extends FlagsOf<P[N]> ? N : never;
}[keyof P];

/** The type of an embedded object. */
export type EmbeddedValue<P extends Properties> = {
  readonly [N in Exclude<keyof P, OptionalNames<P>>]: ValueOf<P[N]>;
} & { readonly [N in OptionalNames<P>]?: ValueOf<P[N]> | undefined } extends infer Shape
  ? { readonly [N in keyof Shape]: Shape[N] }
  : never;

/**
 * An object whose properties are stored one by one as `<name>_<property>`, so `address.city` as
 * `address_city`. Filters can use them. A merge replaces the properties that it is given.
 * `json` stores an object as one text instead.
 */
export function embedded<const P extends EmbeddedProperties>(
  properties: P,
): Property<'embedded', EmbeddedValue<P>> {
  const parts = Object.entries<AnyProperty>(properties).map(([name, { model }]) => ({
    name,
    model,
    suffix: `_${model.wireName ?? name}`,
  }));
  const names = Object.keys(properties);
  const codec: ValueCodec = {
    wireNames: (name) => parts.flatMap(({ suffix, model }) => model.codec.wireNames(name + suffix)),
    write: (name, value, writer) => {
      if (!isRecord(value)) throw new ValueError('the value is no object');
      refuseUnknownNames('the embedded object', value, names);
      for (const part of parts) {
        const inner = value[part.name] ?? undefined;
        if (inner !== undefined) part.model.codec.write(name + part.suffix, inner, writer);
        else if (!part.model.flags.has('optional')) {
          throw new ValueError(`it has no '${part.name}'`);
        }
      }
    },
    read: (name, reader) => {
      const found = parts.flatMap((part) => {
        const value = part.model.codec.read(name + part.suffix, reader);
        return value === undefined ? [] : [[part.name, value] as const];
      });
      if (found.length === 0) return undefined;
      const value: Readonly<Record<string, unknown>> = Object.fromEntries(found);
      const missing = parts.find(
        (part) => !(part.name in value) && !part.model.flags.has('optional'),
      );
      if (missing === undefined) return value;
      throw new DecodeError(`the stored object has no '${missing.name}'`);
    },
  };
  return propertyOf('embedded', codec, { properties });
}
