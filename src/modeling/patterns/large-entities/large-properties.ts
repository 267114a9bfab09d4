import { own } from '../../../base/own.js';
import { storedNameOf, type AnyDefinition } from '../../definition/entity-definition.js';
import {
  propertyOf,
  type AnyProperty,
  type Property,
  type ValueCodec,
  type WireReader,
} from '../../definition/property.js';
import type { StandardSchema } from '../../definition/standard-schema.js';
import { checkOf, jsonCodec, type JsonValue } from '../../definition/structured-types.js';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import type { WireValue } from '../../rows/row.js';
import { manifestProperty, parseManifest } from './manifest.js';

// Properties whose values may exceed the limits of the service. Their table is opened with
// `withLargeValues`. Their kind is that of JSON, so filters and keys cannot use them.

const loneSurrogate = /\p{Surrogate}/u;

function largeProperty<V>(codec: ValueCodec): Property<'json', V> {
  const read: ValueCodec['read'] = (name, reader) => {
    const value = codec.read(name, reader);
    if (value === undefined) refuseElsewhere(name, reader);
    return value;
  };
  return propertyOf('json', { ...codec, alsoReads: [manifestProperty], read }, { isLarge: true });
}

/** A table with large values shows them in their properties, and no manifest. */
function refuseElsewhere(name: string, reader: WireReader): void {
  const manifest = reader.get(manifestProperty);
  if (manifest?.type !== 'String') return;
  if (own(parseManifest(manifest.value).values, name) === undefined) return;
  throw new DecodeError(
    'it is stored outside of its property; open the table with withLargeValues',
  );
}

function codecOfType(type: WireValue['type'], encode: (value: unknown) => WireValue): ValueCodec {
  return {
    wireNames: (name) => [name],
    write: (name, value, writer) => writer.put(name, encode(value)),
    read: (name, reader) => {
      const wire = reader.get(name);
      if (wire === undefined || wire.type === type) return wire?.value;
      throw new DecodeError(`stored as ${wire.type} where the definition has ${type}`);
    },
  };
}

function textOf(value: unknown): WireValue {
  if (typeof value !== 'string') throw new ValueError(`a ${typeof value} is no string`);
  if (!loneSurrogate.test(value)) return { type: 'String', value };
  throw new ValueError('a string with half a surrogate pair has no form on the wire');
}

function bytesOf(value: unknown): WireValue {
  if (value instanceof Uint8Array) return { type: 'Binary', value };
  throw new ValueError(`a ${typeof value} is no Uint8Array`);
}

/** Text of any length. */
export function largeString(): Property<'json', string> {
  return largeProperty(codecOfType('String', textOf));
}

/** Binary of any length. */
export function largeBinary(): Property<'json', Uint8Array> {
  return largeProperty(codecOfType('Binary', bytesOf));
}

/** As `json`, for a text of any length. */
export function largeJson<Output>(schema: StandardSchema<Output>): Property<'json', Output>;
/** A value stored as JSON text of any length, unchecked. */
export function largeJson<T = JsonValue>(): Property<'json', T>;
export function largeJson(schema?: StandardSchema): Property<'json', unknown> {
  return largeProperty(jsonCodec(checkOf(schema), Infinity));
}

/** The stored names of a definition's large properties: `properties` of `LargeOptions`. */
export function largePropertiesOf({ properties }: AnyDefinition): readonly string[] {
  return Object.entries<AnyProperty>(properties)
    .filter(([, { model }]) => model.isLarge === true)
    .map(([name, property]) => storedNameOf(name, property));
}
