import { isRecord } from '../../base/record.js';
import { unreachable } from '../../base/invariant.js';
import { DecodeError, ValueError } from './model-error.js';
import { placeOfKey } from './row-parts.js';
import type { Row, WireValue } from './row.js';
import { isoOfTicks, ticksOfIso } from './ticks.js';

/**
 * A row as JSON, with the type of every value:
 *
 *   {"partitionKey":"Sales","rowKey":"empid_000123","properties":{"Id":["Int32",123]}}
 *
 * Int64 and Guid are strings, DateTime is ISO 8601 with 100 ns, Binary is base64. A Double is a
 * number, or a string for NaN, Infinity, -Infinity and -0.
 */
export interface RowJson {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly properties: { readonly [name: string]: readonly [WireValue['type'], JsonScalar] };
}

type JsonScalar = string | number | boolean;

/** Throws `ValueError` for a row with properties to encrypt: the JSON would show them. */
export function rowToJson({ partitionKey, rowKey, properties, encrypt = [] }: Row): RowJson {
  if (encrypt.length > 0) {
    throw new ValueError(
      `${placeOfKey({ partitionKey, rowKey })} has encrypted properties (${encrypt.join(', ')}), ` +
        'which JSON would show in plain; a table that is opened without encryption reads the row ' +
        'as it is stored',
    );
  }
  return {
    partitionKey,
    rowKey,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, wire]) => [name, [wire.type, toScalar(wire)]]),
    ),
  };
}

function toScalar(wire: WireValue): JsonScalar {
  switch (wire.type) {
    case 'Int64':
      return String(wire.value);
    case 'DateTime':
      return isoOfTicks(wire.value);
    case 'Binary':
      return Buffer.from(wire.value).toString('base64');
    case 'Double':
      if (Object.is(wire.value, -0)) return '-0';
      return Number.isFinite(wire.value) ? wire.value : String(wire.value);
    case 'String':
    case 'Guid':
    case 'Int32':
    case 'Boolean':
      return wire.value;
    default:
      return unreachable(wire);
  }
}

/** Throws `DecodeError` for JSON that `rowToJson` does not produce. */
export function rowFromJson(json: unknown): Row {
  if (!isRecord(json)) throw new DecodeError('a row in JSON is an object');
  const { partitionKey, rowKey, properties } = json;
  if (typeof partitionKey !== 'string' || typeof rowKey !== 'string' || !isRecord(properties)) {
    throw new DecodeError('a row in JSON has partitionKey, rowKey and properties');
  }
  const read = Object.entries(properties).map(([name, value]): [string, WireValue] => {
    const [type, scalar]: readonly unknown[] = Array.isArray(value) ? value : [];
    const wire = fromScalar(type, scalar);
    if (wire === undefined) throw new DecodeError(`'${name}' is no value of a row in JSON`);
    return [name, wire];
  });
  return { partitionKey, rowKey, properties: Object.fromEntries(read) };
}

function fromScalar(type: unknown, value: unknown): WireValue | undefined {
  switch (type) {
    case 'String':
    case 'Guid':
      return typeof value === 'string' ? { type, value } : undefined;
    case 'Boolean':
      return typeof value === 'boolean' ? { type, value } : undefined;
    case 'Int32':
      return typeof value === 'number' && Number.isInteger(value) ? { type, value } : undefined;
    case 'Int64':
      return typeof value === 'string' && /^-?\d+$/.test(value)
        ? { type, value: BigInt(value) }
        : undefined;
    case 'Double':
      return readDouble(value);
    case 'Binary':
      return typeof value === 'string'
        ? { type, value: new Uint8Array(Buffer.from(value, 'base64')) }
        : undefined;
    case 'DateTime': {
      const ticks = typeof value === 'string' ? ticksOfIso(value) : undefined;
      return ticks === undefined ? undefined : { type, value: ticks };
    }
    default:
      return undefined;
  }
}

function readDouble(value: unknown): WireValue | undefined {
  if (typeof value === 'number') return { type: 'Double', value };
  const isNamed = typeof value === 'string' && /^(NaN|-?Infinity|-0)$/.test(value);
  return isNamed ? { type: 'Double', value: Number(value) } : undefined;
}
