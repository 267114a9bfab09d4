import { unreachable } from '../../base/invariant.js';
import { lookup3 } from '../hashes/lookup3.js';
import { countRefusal, refused, type Refusal } from './refusal.js';

// Event Hubs: how its clients map a key to a partition, by their published sources. How the service
// itself maps keys is not documented, so these functions do not promise its partitions.

const encoder = new TextEncoder();

/**
 * How a key becomes a partition:
 *
 * - `javascript`: the clients of JavaScript and .NET; the remainder has the sign of the hash.
 * - `python`: the client of Python; the remainder is never negative, so keys with a negative hash
 *   come elsewhere. It hashes the code points of a key instead of its UTF-8, so keys beyond ASCII
 *   have another hash too.
 * - `iot-edge`: the upper-cased key, over contiguous ranges of 32,767 values; for ASCII only.
 */
export type EventHubsRule = 'javascript' | 'python' | 'iot-edge';

/**
 * The partition or the key that a sender gives an event. With neither, the sender uses round robin.
 */
export interface EventHubsTarget {
  readonly partitionKey?: string | undefined;
  readonly partitionId?: string | undefined;
}

/** `round-robin`: the sender takes one partition after the other. */
export type EventHubsPlace =
  | { readonly kind: 'partition'; readonly partition: number; readonly by: 'id' | 'key' }
  | { readonly kind: 'round-robin' }
  | Refusal;

/**
 * The hash of a key, −32,768 to 32,767: of its UTF-8 bytes, where lone surrogates count as U+FFFD;
 * by the rule of `python` of its code points, by that of `iot-edge` of the upper-cased key.
 */
export function eventHubsHash(partitionKey: string, rule: EventHubsRule = 'javascript'): number {
  const { b, c } = lookup3(unitsOf(partitionKey, rule));
  return ((b ^ c) << 16) >> 16;
}

function unitsOf(key: string, rule: EventHubsRule): ArrayLike<number> {
  switch (rule) {
    case 'javascript':
      return encoder.encode(key);
    case 'python':
      return Array.from(key, (character) => character.codePointAt(0) ?? 0);
    case 'iot-edge':
      return encoder.encode(key.toUpperCase());
    default:
      return unreachable(rule);
  }
}

/** The partition of an event, 0 to `partitions` − 1, as a client with this rule would choose it. */
export function eventHubsPartition(
  target: EventHubsTarget,
  { partitions, rule }: { readonly partitions: number; readonly rule: EventHubsRule },
): EventHubsPlace {
  const bad = countRefusal('partitions', partitions);
  if (bad !== undefined) return bad;
  const { partitionId, partitionKey } = target;
  if (partitionId !== undefined && partitionKey !== undefined) {
    const what = 'an event has a partition key and a partition id; give one of them';
    return refused('conflicting-keys', what);
  }
  if (partitionId !== undefined) return placeOfId(partitionId, partitions);
  if (partitionKey === undefined) return Object.freeze({ kind: 'round-robin' });
  const partition = partitionOfKey(partitionKey, partitions, rule);
  return typeof partition === 'number'
    ? Object.freeze({ kind: 'partition', partition, by: 'key' })
    : partition;
}

function placeOfId(partitionId: string, partitions: number): EventHubsPlace {
  const partition = /^(?:0|[1-9]\d*)$/.test(partitionId) ? Number(partitionId) : partitions;
  if (partition < partitions) return Object.freeze({ kind: 'partition', partition, by: 'id' });
  const range = `ids are '0' to '${partitions - 1}'`;
  return refused('unknown-name', `there is no partition '${partitionId}'; ${range}`);
}

function partitionOfKey(key: string, partitions: number, rule: EventHubsRule): number | Refusal {
  if (rule === 'iot-edge') return edgePartition(key, partitions);
  const rest = eventHubsHash(key, rule) % partitions;
  return rule === 'python' && rest < 0 ? rest + partitions : Math.abs(rest);
}

/** The values of the second rule: hashes modulo this, without sign. */
const edgeValues = 32_767;

function edgePartition(key: string, partitions: number): number | Refusal {
  // Encoders treat other characters differently, so readers and writers could choose different
  // partitions.
  if (!isAscii(key)) {
    return refused('bad-key', `the rule is published for ASCII; '${key}' has other characters`);
  }
  if (partitions > edgeValues) {
    return refused('bad-count', `the rule has ${edgeValues} values, not ${partitions} partitions`);
  }
  const value = Math.abs(eventHubsHash(key, 'iot-edge') % edgeValues);
  const width = Math.floor(edgeValues / partitions);
  const wider = edgeValues % partitions;
  const ofWider = wider * (width + 1);
  return value < ofWider
    ? Math.floor(value / (width + 1))
    : wider + Math.floor((value - ofWider) / width);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}
