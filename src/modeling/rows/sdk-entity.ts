import { unreachable } from '../../base/invariant.js';
import { DecodeError, ValueError } from './model-error.js';
import type { Row, RowProperties, StoredRow, WireValue } from './row.js';
import { isoOfTicks, ticksOfIso } from './ticks.js';

/** An entity as `@azure/data-tables` takes it: every property with its type. */
export interface SdkEntity {
  [name: string]: SdkValue | string;
  partitionKey: string;
  rowKey: string;
}

interface SdkValue {
  readonly type: WireValue['type'];
  readonly value: string | boolean;
}

/**
 * Names that the client itself gives a meaning: it would write `etag` as metadata and lose it, and
 * could not tell a property `timestamp` from the Timestamp.
 */
const clientNames = new Set(['partitionKey', 'rowKey', 'etag', 'timestamp']);
const systemNames = new Set(['PartitionKey', 'RowKey', 'Timestamp']);

/** Why a property cannot have a name on the wire; undefined when it can. */
export function wireNameFault(name: string): string | undefined {
  if (systemNames.has(name)) return `'${name}' is a property of the service itself`;
  if (clientNames.has(name)) return `@azure/data-tables cannot write a property named '${name}'`;
  if (name.length > 255) return `'${name.slice(0, 40)}…' is longer than 255 characters`;
  return /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name)
    ? undefined
    : `'${name}' is no name for a property: a letter or _, then letters, digits and _`;
}

/** Throws `ValueError` for a name that cannot be written. */
export function toSdkEntity({ partitionKey, rowKey, properties }: Row): SdkEntity {
  const entity: SdkEntity = { partitionKey, rowKey };
  for (const [name, wire] of Object.entries(properties)) {
    const fault = wireNameFault(name);
    if (fault !== undefined) throw new ValueError(fault);
    entity[name] = toSdkValue(wire);
  }
  return entity;
}

function toSdkValue(wire: WireValue): SdkValue {
  switch (wire.type) {
    case 'String':
    case 'Boolean':
    case 'Guid':
      return { type: wire.type, value: wire.value };
    case 'Int32':
    case 'Int64':
      return { type: wire.type, value: String(wire.value) };
    case 'Double':
      return { type: wire.type, value: Object.is(wire.value, -0) ? '-0' : String(wire.value) };
    case 'Binary':
      return { type: wire.type, value: base64Of(wire.value) };
    case 'DateTime':
      return { type: wire.type, value: isoOfTicks(wire.value) };
    default:
      return unreachable(wire);
  }
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/**
 * A row from an entity that the client read with `disableTypeConversion`. `wholeDoubles` names the
 * properties that the answer wrote as numbers with a fraction or an exponent although their values
 * are whole: the client takes those for Int32.
 */
export function fromSdkEntity(
  entity: Readonly<Record<string, unknown>>,
  wholeDoubles: ReadonlyMap<string, number> = new Map(),
): StoredRow {
  const properties: Record<string, WireValue> = {};
  for (const name in entity) {
    if (clientNames.has(name) || name.startsWith('odata.')) continue;
    const whole = wholeDoubles.get(name);
    if (whole !== undefined) properties[name] = { type: 'Double', value: whole };
    else {
      const wire = fromSdkValue(name, entity[name]);
      if (wire !== undefined) properties[name] = wire;
    }
  }
  return {
    partitionKey: textOf(entity['partitionKey']),
    rowKey: textOf(entity['rowKey']),
    etag: textOf(entity['etag']),
    timestamp: timestampOf(entity['timestamp']),
    properties,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function timestampOf(value: unknown): bigint {
  const text = isTyped(value) ? value.value : value;
  return (typeof text === 'string' ? ticksOfIso(text) : undefined) ?? 0n;
}

function isTyped(value: unknown): value is { readonly type: unknown; readonly value: unknown } {
  return typeof value === 'object' && value !== null && 'type' in value && 'value' in value;
}

/** Undefined for null, which the service never stores. */
function fromSdkValue(name: string, given: unknown): WireValue | undefined {
  if (given === null || given === undefined) return undefined;
  const wire = isTyped(given) ? readValue(given.type, given.value) : undefined;
  if (wire === undefined) {
    throw new DecodeError(`The client read '${name}' as ${JSON.stringify(given)}`);
  }
  return wire;
}

const int32Min = -2_147_483_648;
const int32Max = 2_147_483_647;

function readValue(type: unknown, value: unknown): WireValue | undefined {
  const text = String(value);
  switch (type) {
    case 'String':
      return { type, value: text };
    case 'Guid':
      return { type, value: text.toLowerCase() };
    case 'Boolean':
      return { type, value: text === 'true' };
    case 'Int32':
      return readInt32(Number(value));
    case 'Double':
      return { type, value: Number(value) };
    case 'Int64':
      return { type, value: BigInt(text) };
    case 'Binary':
      return { type, value: new Uint8Array(Buffer.from(text, 'base64')) };
    case 'DateTime': {
      const ticks = ticksOfIso(text);
      return ticks === undefined ? undefined : { type, value: ticks };
    }
    default:
      return undefined;
  }
}

/** The client calls every whole number an Int32; one beyond its range can only be a Double. */
function readInt32(value: number): WireValue {
  const isInt32 = value >= int32Min && value <= int32Max;
  return isInt32 ? { type: 'Int32', value } : { type: 'Double', value };
}

/** Properties, for tests and tools, from an entity without keys. */
export function propertiesOfSdk(entity: Readonly<Record<string, unknown>>): RowProperties {
  return fromSdkEntity(entity).properties;
}
