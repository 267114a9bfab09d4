import { unreachable } from '../../base/invariant.js';
import { DecodeError, ValueError } from './model-error.js';
import type { Row, RowProperties, StoredRow, WireValue } from './row.js';
import { isoOfTicks, ticksOfIso } from './ticks.js';

/** An entity as `@azure/data-tables` takes it. */
export interface SdkEntity {
  [name: string]: SdkValue;
  partitionKey: string;
  rowKey: string;
}

/** What the client would type wrongly is given with its type. */
type SdkValue =
  string | number | boolean | { readonly type: WireValue['type']; readonly value: string };

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

/** Names that can be written, so that each is looked at once. */
const goodNames = new Set<string>();
const goodNamesMax = 10_000;

function checkName(name: string): void {
  if (goodNames.has(name)) return;
  const fault = wireNameFault(name);
  if (fault !== undefined) throw new ValueError(fault);
  if (goodNames.size < goodNamesMax) goodNames.add(name);
}

/** Throws `ValueError` for a name that cannot be written. */
export function toSdkEntity({ partitionKey, rowKey, properties }: Row): SdkEntity {
  const entity: SdkEntity = { partitionKey, rowKey };
  for (const name of Object.keys(properties)) {
    const wire = properties[name];
    if (wire === undefined) continue;
    checkName(name);
    entity[name] = toSdkValue(wire);
  }
  return entity;
}

/** Without a type, JSON tells String, Boolean, Int32 and Doubles with a fraction apart. */
function toSdkValue(wire: WireValue): SdkValue {
  switch (wire.type) {
    case 'String':
    case 'Boolean':
    case 'Int32':
      return wire.value;
    case 'Guid':
      return { type: wire.type, value: wire.value };
    case 'Int64':
      return { type: wire.type, value: String(wire.value) };
    case 'Double':
      return toSdkDouble(wire.value);
    case 'Binary':
      return { type: wire.type, value: base64Of(wire.value) };
    case 'DateTime':
      return { type: wire.type, value: isoOfTicks(wire.value) };
    default:
      return unreachable(wire);
  }
}

function toSdkDouble(value: number): SdkValue {
  if (Number.isFinite(value) && !Number.isInteger(value)) return value;
  return { type: 'Double', value: Object.is(value, -0) ? '-0' : String(value) };
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/**
 * A row from an entity that the client read with `disableTypeConversion`. `wholeDoubles` has the
 * properties that the answer wrote as numbers with a fraction or an exponent although their values
 * are whole: the client takes those for Int32.
 */
export function fromSdkEntity(
  entity: Readonly<Record<string, unknown>>,
  wholeDoubles?: ReadonlyMap<string, number>,
): StoredRow {
  const properties: Record<string, WireValue> = {};
  for (const name of Object.keys(entity)) {
    if (isOfTheClient(name)) continue;
    const whole = wholeDoubles?.get(name);
    const wire = whole === undefined ? fromSdkValue(name, entity[name]) : doubleOf(whole);
    if (wire !== undefined) properties[name] = wire;
  }
  return {
    partitionKey: textOf(entity['partitionKey']),
    rowKey: textOf(entity['rowKey']),
    etag: textOf(entity['etag']),
    timestamp: timestampOf(entity['timestamp']),
    properties,
  };
}

function isOfTheClient(name: string): boolean {
  switch (name) {
    case 'partitionKey':
    case 'rowKey':
    case 'etag':
    case 'timestamp':
    case 'odata.metadata':
      return true;
    default:
      return name.startsWith('odata.');
  }
}

function doubleOf(value: number): WireValue {
  return { type: 'Double', value };
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
  if (wire !== undefined) return wire;
  throw new DecodeError(`The client read '${name}' as ${JSON.stringify(given)}`);
}

const int32Min = -2_147_483_648;
const int32Max = 2_147_483_647;

function readValue(type: unknown, value: unknown): WireValue | undefined {
  switch (type) {
    case 'String':
      return { type, value: String(value) };
    case 'Guid':
      return { type, value: String(value).toLowerCase() };
    case 'Boolean':
      return { type, value: String(value) === 'true' };
    case 'Int32':
      return readInt32(Number(value));
    case 'Double':
      return doubleOf(Number(value));
    case 'Int64':
      return { type, value: BigInt(String(value)) };
    case 'Binary':
      return { type, value: new Uint8Array(Buffer.from(String(value), 'base64')) };
    case 'DateTime': {
      const ticks = ticksOfIso(String(value));
      return ticks === undefined ? undefined : { type, value: ticks };
    }
    default:
      return undefined;
  }
}

/** The client calls every whole number an Int32; one beyond its range can only be a Double. */
function readInt32(value: number): WireValue {
  const isInt32 = value >= int32Min && value <= int32Max;
  return isInt32 ? { type: 'Int32', value } : doubleOf(value);
}

/** Properties, for tests and tools, from an entity without keys. */
export function propertiesOfSdk(entity: Readonly<Record<string, unknown>>): RowProperties {
  return fromSdkEntity(entity).properties;
}
