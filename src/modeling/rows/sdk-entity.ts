import { unreachable } from '../../base/invariant.js';
import { ValueError } from './model-error.js';
import type { Row, WireValue } from './row.js';
import { isoOfTicks } from './ticks.js';

/** An entity as `@azure/data-tables` takes it. */
export interface SdkEntity {
  [name: string]: SdkValue;
  partitionKey: string;
  rowKey: string;
}

/** A value whose type the client would infer wrongly carries its type. */
type SdkValue =
  string | number | boolean | { readonly type: WireValue['type']; readonly value: string };

/**
 * Names with a meaning for the client: it writes `etag` as metadata and loses it, and cannot tell a
 * property `timestamp` from the Timestamp.
 */
const clientNames = new Set(['partitionKey', 'rowKey', 'etag', 'timestamp']);
const systemNames = new Set(['PartitionKey', 'RowKey', 'Timestamp']);
/** The client assigns properties, and assigning to this name sets the prototype instead. */
const prototypeName = '__proto__';

/** Why a property cannot have this stored name; undefined when it can. */
export function wireNameFault(name: string): string | undefined {
  if (systemNames.has(name)) return `'${name}' is a property of the service itself`;
  if (clientNames.has(name) || name === prototypeName) {
    return `@azure/data-tables cannot write a property named '${name}'`;
  }
  if (name.length > 255) return `'${name.slice(0, 40)}…' is longer than 255 characters`;
  return /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name)
    ? undefined
    : `'${name}' is no name for a property: a letter or _, then letters, digits and _`;
}

/** A cache of valid names, so that each is checked once. */
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

/** String, Boolean, Int32 and Doubles with a fraction need no type in JSON. */
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
