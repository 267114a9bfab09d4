import { setOwn } from '../../base/own.js';
import { DecodeError } from './model-error.js';
import type { StoredRow, WireValue } from './row.js';
import { ticksOfIso } from './ticks.js';
import type { WholeDoubles } from './whole-doubles.js';

/** An entity of a response, parsed from JSON with minimal metadata. */
export type JsonEntity = Readonly<Record<string, unknown>>;

const annotation = '@odata.type';

/**
 * Decodes an entity. Types that JSON does not show are in annotations, which the service writes
 * before the values. `wholeDoubles` holds the properties that the JSON text wrote as Doubles
 * although their values are whole. Throws `DecodeError` for a value that the service never writes.
 */
export function rowOfJson(entity: JsonEntity, wholeDoubles?: WholeDoubles): StoredRow {
  const properties: Record<string, WireValue> = {};
  let annotated = '';
  let type: unknown;
  for (const name of Object.keys(entity)) {
    if (isSystemName(name)) continue;
    const value = entity[name];
    if (name.endsWith(annotation)) {
      annotated = name.slice(0, -annotation.length);
      type = value;
      // An annotation after its value: decode the value again with its type.
      if (Object.hasOwn(properties, annotated)) {
        setOwn(properties, annotated, typedValue(annotated, type, entity[annotated]));
      }
    } else if (name === annotated) setOwn(properties, name, typedValue(name, type, value));
    else if (value !== null) {
      setOwn(properties, name, plainValue(name, value, wholeDoubles));
    }
  }
  return {
    partitionKey: textOf(entity['PartitionKey']),
    rowKey: textOf(entity['RowKey']),
    etag: textOf(entity['odata.etag']),
    timestamp: ticksOfIso(textOf(entity['Timestamp'])) ?? 0n,
    properties,
  };
}

function isSystemName(name: string): boolean {
  switch (name) {
    case 'PartitionKey':
    case 'RowKey':
    case 'Timestamp':
    case 'Timestamp@odata.type':
    case 'odata.etag':
      return true;
    default:
      return name.startsWith('odata.');
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const int32Min = -2_147_483_648;
const int32Max = 2_147_483_647;

/** Without an annotation, JSON determines the type. */
function plainValue(
  name: string,
  value: unknown,
  wholeDoubles: WholeDoubles | undefined,
): WireValue {
  switch (typeof value) {
    case 'string':
      return { type: 'String', value };
    case 'boolean':
      return { type: 'Boolean', value };
    case 'number': {
      const isInt32 = Number.isInteger(value) && value >= int32Min && value <= int32Max;
      const isDouble = !isInt32 || wholeDoubles?.has(name) === true;
      return { type: isDouble ? 'Double' : 'Int32', value };
    }
    default:
      throw fault(name, undefined, value);
  }
}

function typedValue(name: string, type: unknown, value: unknown): WireValue {
  switch (type) {
    case 'Edm.String':
      return { type: 'String', value: String(value) };
    case 'Edm.Boolean':
      return { type: 'Boolean', value: String(value) === 'true' };
    case 'Edm.Int32':
      return { type: 'Int32', value: Number(value) };
    case 'Edm.Int64':
      return { type: 'Int64', value: BigInt(String(value)) };
    case 'Edm.Double':
      return { type: 'Double', value: doubleOf(value) };
    case 'Edm.Guid':
      return { type: 'Guid', value: String(value).toLowerCase() };
    case 'Edm.Binary':
      return { type: 'Binary', value: new Uint8Array(Buffer.from(String(value), 'base64')) };
    case 'Edm.DateTime': {
      const ticks = ticksOfIso(String(value));
      if (ticks !== undefined) return { type: 'DateTime', value: ticks };
      throw fault(name, type, value);
    }
    default:
      throw fault(name, type, value);
  }
}

function doubleOf(value: unknown): number {
  if (value === 'INF') return Infinity;
  return value === '-INF' ? -Infinity : Number(value);
}

function fault(name: string, type: unknown, value: unknown): DecodeError {
  const told = typeof type === 'string' ? ` of type ${type}` : '';
  return new DecodeError(`The answer has '${name}'${told} with ${JSON.stringify(value)}`);
}
