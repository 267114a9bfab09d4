import { unreachable } from '../../../base/invariant.js';
import {
  hashRoutingOf,
  listRouting,
  rangeRouting,
  routingFault,
  type ShardRange,
  type ShardRouting,
} from '../../../placement/shard-routing.js';
import { escapeKeyText } from '../../definition/key-escape.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { DecodeError, TooLargeError } from '../../rows/model-error.js';
import { rowBytes, rowBytesMax } from '../../rows/row-size.js';
import type { Row, RowKey, RowProperties, StoredRow, WireValue } from '../../rows/row.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import { writeIf } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import { isBindingRow } from './shard-binding.js';
import type { ChangeOutcome, MapPhase, MapState } from './map-state.js';

/** The partitions of stored maps and of stored progress. */
const { shardMap: partition, shardProgress: progressPartition } = reservedPartitionKeys;
const mapType = 'ShardMap';
export const progressType = 'ShardProgress';
/** Below the limit of a property: 32,768 UTF-16 code units. */
const pieceUnits = 32_000;
const phases: readonly string[] = [
  'copying',
  'handing-over',
  'handed-over',
  'handing-back',
] satisfies readonly MapPhase[];

/** Whether a shard map wrote a row for itself. `EntityType` must have been read. */
export function isMapRow(row: Row): boolean {
  const { partitionKey, properties } = row;
  if (isBindingRow(row)) return true;
  const type = properties['EntityType']?.value;
  if (partitionKey === partition) return type === mapType;
  return partitionKey === progressPartition && type === progressType;
}

export function progressKey(name: string): RowKey {
  return { partitionKey: progressPartition, rowKey: escapeKeyText(name, '') };
}

export function mapKey(name: string): RowKey {
  return { partitionKey: partition, rowKey: escapeKeyText(name, '') };
}

/** Throws `TooLargeError` for a map beyond 1 MiB. */
export function mapRow(name: string, state: MapState): Row {
  const { version, phase, routing } = state;
  const json = asciiJson({
    routing: plainRouting(routing),
    ...(state.phase === 'settled' ? {} : { target: plainRouting(state.target) }),
  });
  const properties: Record<string, WireValue> = {
    EntityType: { type: 'String', value: mapType },
    Version: { type: 'Int32', value: version },
    Phase: { type: 'String', value: phase },
    ...(state.phase === 'settled' || state.access === undefined
      ? {}
      : { Access: { type: 'String', value: state.access } }),
    ...operationIn(state),
  };
  for (let at = 0, piece = 0; at < json.length; at += pieceUnits, piece += 1) {
    properties[pieceName(piece)] = { type: 'String', value: json.slice(at, at + pieceUnits) };
  }
  const row = { ...mapKey(name), properties };
  if (rowBytes(row) > rowBytesMax) {
    throw new TooLargeError(
      `the shard map '${name}' takes more than 1 MiB; use ranges or slots instead of a list`,
    );
  }
  return row;
}

function operationIn(state: MapState): Record<string, WireValue> {
  if (state.phase !== 'settled') {
    const { operation } = state;
    return operation === undefined ? {} : { Operation: storedText(operation) };
  }
  const { last } = state;
  if (last === undefined) return {};
  return { Operation: storedText(last.operation), Outcome: storedText(last.outcome) };
}

/** Whether two routings are stored alike. */
export function sameRouting(left: ShardRouting, right: ShardRouting): boolean {
  return asciiJson(plainRouting(left)) === asciiJson(plainRouting(right));
}

/** Throws `DecodeError` with the reason for a row that is no map. */
export function mapStateOf(name: string, { properties }: StoredRow): MapState {
  const refuse = (why: string, cause?: unknown): DecodeError =>
    new DecodeError(`the row of the shard map '${name}' cannot be read: ${why}`, { cause });
  const version = properties['Version'];
  const phase = properties['Phase'];
  if (version?.type !== 'Int32' || version.value < 1) throw refuse('it has no Version');
  if (phase?.type !== 'String') throw refuse('it has no Phase');
  const whole = ((): unknown => {
    try {
      return JSON.parse(jsonIn(properties));
    } catch (error) {
      throw refuse('Map0 and those that follow are no JSON', error);
    }
  })();
  const routing = routingIn(whole, 'routing');
  if (typeof routing === 'string') throw refuse(`routing: ${routing}`);
  const operation = textIn(properties, 'Operation');
  if (phase.value === 'settled') {
    const settled = { version: version.value, phase: 'settled', routing } as const;
    const outcome = textIn(properties, 'Outcome');
    if (operation === undefined || !isOutcome(outcome)) return settled;
    return { ...settled, last: { operation, outcome } };
  }
  const target = routingIn(whole, 'target');
  if (typeof target === 'string') throw refuse(`target: ${target}`);
  const found = phase.value;
  if (!isMoving(found)) throw refuse(`the phase '${found}' is not known here`);
  const named = operation === undefined ? {} : { operation };
  const moving = { version: version.value, phase: found, routing, target, ...named };
  const access = properties['Access']?.value;
  return access === 'read-only' || access === 'offline' ? { ...moving, access } : moving;
}

/** A map as it is stored; undefined: there is none. One point read. Throws as `mapStateOf`. */
export async function findMapState(
  control: TableGateway,
  name: string,
): Promise<MapState | undefined> {
  const row = await control.get(mapKey(name));
  return row && mapStateOf(name, row);
}

/**
 * Deletes a map on which no change is under way. Returns the phase of such a change, and deletes
 * nothing then. A point read and a write, again when the map has changed meanwhile. Throws as
 * `mapStateOf`.
 */
export async function deleteSettledMap(
  control: TableGateway,
  name: string,
): Promise<Exclude<MapPhase, 'settled'> | undefined> {
  const key = mapKey(name);
  for (;;) {
    const row = await control.get(key);
    if (row === undefined) return undefined;
    const { phase } = mapStateOf(name, row);
    if (phase !== 'settled') return phase;
    if (await writeIf(control, { kind: 'delete', key, etag: row.etag })) return undefined;
  }
}

function isMoving(text: string): text is Exclude<MapPhase, 'settled'> {
  return phases.includes(text);
}

function isOutcome(text: string | undefined): text is ChangeOutcome {
  return text === 'finished' || text === 'rolled-back';
}

function pieceName(piece: number): string {
  return `Map${piece}`;
}

function jsonIn(properties: RowProperties): string {
  let json = '';
  for (let piece = 0; ; piece += 1) {
    const wire = properties[pieceName(piece)];
    if (wire?.type !== 'String') return json;
    json += wire.value;
  }
}

/** Escaped to ASCII, so that no piece ends within a character. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Slots name shards by their index in a list, so that 16,384 of them take some 50 KB. */
function plainRouting(routing: ShardRouting): object {
  switch (routing.kind) {
    case 'list': {
      const { kind, otherwise } = routing;
      return {
        kind,
        entries: [...routing.shards],
        ...(otherwise === undefined ? {} : { otherwise }),
      };
    }
    case 'range': {
      const ranges = routing.ranges.map(({ from, shard }) => [from, shard]);
      return { kind: routing.kind, ranges };
    }
    case 'hash': {
      const shards = [...new Set(routing.slots)];
      const places = new Map(shards.map((shard, place) => [shard, place]));
      return { kind: routing.kind, shards, slots: routing.slots.map((each) => places.get(each)) };
    }
    default:
      return unreachable(routing);
  }
}

/** A routing, or its fault as text. */
function routingIn(whole: unknown, name: string): ShardRouting | string {
  const value = fieldOf(whole, name);
  const routing = ((): ShardRouting | string => {
    switch (fieldOf(value, 'kind')) {
      case 'list':
        return listIn(fieldOf(value, 'entries'), fieldOf(value, 'otherwise'));
      case 'range':
        return rangesIn(fieldOf(value, 'ranges'));
      case 'hash':
        return slotsIn(fieldOf(value, 'shards'), fieldOf(value, 'slots'));
      default:
        return 'it is neither list, range nor hash';
    }
  })();
  return typeof routing === 'string' ? routing : (routingFault(routing) ?? routing);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((each) => isText(each));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function listIn(entries: unknown, otherwise: unknown): ShardRouting | string {
  if (!Array.isArray(entries) || !entries.every(isPair)) return 'entries are pairs of texts';
  if (otherwise !== undefined && !isText(otherwise)) return 'otherwise is a text';
  return listRouting(new Map(entries), otherwise);
}

function rangesIn(ranges: unknown): ShardRouting | string {
  if (!Array.isArray(ranges) || !ranges.every(isPair)) return 'ranges are pairs of texts';
  return rangeRouting(ranges.map(([from, shard]): ShardRange => ({ from, shard })));
}

function slotsIn(shards: unknown, slots: unknown): ShardRouting | string {
  if (!Array.isArray(shards) || !shards.every(isText)) return 'shards are texts';
  if (!Array.isArray(slots)) return 'slots are numbers';
  const names = slots.map((place: unknown): unknown => shards[Number(place)]);
  return names.every(isText) ? hashRoutingOf(names) : 'a slot names a shard that is not there';
}
