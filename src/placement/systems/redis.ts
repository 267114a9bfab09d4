import { createHash } from 'node:crypto';
import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { crc16 } from '../hashes/crc16.js';
import { countRefusal, refused, type Refusal } from './refusal.js';

// Redis: finds the server of a key. A cluster decides by slots, clients without a cluster by their
// own slots or a hash ring, a proxy by itself.

const encoder = new TextEncoder();
const slots = 16_384;
const open = 0x7b;
const close = 0x7d;

/** A key is bytes; a text is its UTF-8. */
export type RedisKey = string | Bytes;

function bytesOf(key: RedisKey): Bytes {
  return typeof key === 'string' ? encoder.encode(key) : key;
}

/**
 * The hashed part of a key: the text between the first `{` and the next `}`, if that is not empty;
 * else the whole key.
 */
export function redisHashTag(key: RedisKey): Bytes {
  const bytes = bytesOf(key);
  const start = bytes.indexOf(open);
  const end = start < 0 ? -1 : bytes.indexOf(close, start + 1);
  return end > start + 1 ? bytes.subarray(start + 1, end) : bytes;
}

/** The slot of a key, 0 to 16,383: CRC-16/XMODEM of its tag. */
export function redisSlot(key: RedisKey): number {
  return crc16(redisHashTag(key)) % slots;
}

/** The slot that all keys share, as MGET, MSET, MULTI and scripts in a cluster ask for. */
export function redisSameSlot(
  keys: readonly RedisKey[],
): { readonly kind: 'slot'; readonly slot: number } | Refusal {
  const [first] = keys;
  if (first === undefined) return refused('bad-count', 'there is no key; give at least one');
  const slot = redisSlot(first);
  const other = keys.find((key) => redisSlot(key) !== slot);
  if (other === undefined) return Object.freeze({ kind: 'slot', slot });
  const what = `${shown(first)} is in slot ${slot}, ${shown(other)} in ${redisSlot(other)}`;
  return refused('different-places', `${what}; give both the same part in braces, as in {id}`);
}

function shown(key: RedisKey): string {
  return `'${typeof key === 'string' ? key : Buffer.from(key).toString('latin1')}'`;
}

/** Slots from `from` to `to`, both included. */
export interface SlotRange {
  readonly server: string;
  readonly from: number;
  readonly to: number;
}

/** Contiguous slots for each server, as even as they can be. Refused: no server, or one twice. */
export function redisSlotRanges(
  servers: readonly string[],
): { readonly kind: 'slots'; readonly ranges: readonly SlotRange[] } | Refusal {
  const bad = serversRefusal(servers);
  if (bad !== undefined) return bad;
  const startOf = (index: number): number => Math.ceil((index * slots) / servers.length);
  const ranges = servers.map((server, index) =>
    Object.freeze({ server, from: startOf(index), to: startOf(index + 1) - 1 }),
  );
  return Object.freeze({ kind: 'slots', ranges: Object.freeze(ranges) });
}

function serversRefusal(servers: readonly string[]): Refusal | undefined {
  const known = new Set<string>();
  for (const server of servers) {
    if (known.has(server)) return refused('bad-count', `the server '${server}' is there twice`);
    known.add(server);
  }
  if (servers.length > slots) return refused('too-much', `there are ${slots} slots for servers`);
  return countRefusal('servers', servers.length);
}

/** A ring: a key belongs to the first point that is not before its hash. */
export interface RedisRing {
  readonly kind: 'ring';
  /** By `at`, each once. */
  readonly points: readonly { readonly at: number; readonly server: string }[];
}

/** Points of a server; four come from each digest. */
const pointsOfServer = 160;

/**
 * The ketama ring of servers of one weight: 160 points each, from MD5 of `server-0` to `server-39`.
 * With one more server about one key in n + 1 moves, all of them to the new server.
 */
export function redisRing(servers: readonly string[]): RedisRing | Refusal {
  const bad = serversRefusal(servers);
  if (bad !== undefined) return bad;
  const owners = new Map<number, string>();
  for (const server of servers) {
    for (let index = 0; index < pointsOfServer / 4; index++) {
      const digest = md5(encoder.encode(`${server}-${index}`));
      for (const at of [0, 4, 8, 12].map((offset) => digest.readUInt32LE(offset))) {
        // The first server by name keeps a point that two have, whatever the order given.
        const owner = owners.get(at);
        if (owner === undefined || server < owner) owners.set(at, server);
      }
    }
  }
  const points = [...owners]
    .map(([at, server]) => Object.freeze({ at, server }))
    .sort((a, b) => a.at - b.at);
  return Object.freeze({ kind: 'ring', points: Object.freeze(points) });
}

function md5(bytes: Bytes): Buffer {
  return createHash('md5').update(bytes).digest();
}

/** How a client finds the server that has a key. */
export type RedisScheme =
  | RedisRing
  /**
   * A client that distributes the slots itself, or a cluster, which redirects requests for other
   * slots.
   */
  | { readonly kind: 'slots'; readonly ranges: readonly SlotRange[] }
  /** Any of the proxies, which know the servers. */
  | { readonly kind: 'proxy'; readonly proxies: readonly string[] };

export type RedisPlace =
  | { readonly kind: 'server'; readonly server: string }
  | { readonly kind: 'any'; readonly servers: readonly string[] }
  | Refusal;

/** The server that a client asks for a key. */
export function redisServer(key: RedisKey, scheme: RedisScheme): RedisPlace {
  switch (scheme.kind) {
    case 'ring':
      return serverOf(ringServer(redisHashTag(key), scheme), 'the ring has no server; add one');
    case 'slots': {
      const slot = redisSlot(key);
      const range = scheme.ranges.find(({ from, to }) => from <= slot && slot <= to);
      return serverOf(range?.server, `no server has the slot ${slot}; give every slot a server`);
    }
    case 'proxy': {
      const bad = serversRefusal(scheme.proxies);
      return bad ?? Object.freeze({ kind: 'any', servers: scheme.proxies });
    }
    default:
      return unreachable(scheme);
  }
}

function serverOf(server: string | undefined, missing: string): RedisPlace {
  if (server !== undefined) return Object.freeze({ kind: 'server', server });
  return refused('outside', missing);
}

function ringServer(tag: Bytes, { points }: RedisRing): string | undefined {
  const hash = md5(tag).readUInt32LE(0);
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.at ?? 0) < hash) low = middle + 1;
    else high = middle;
  }
  return (points[low] ?? points[0])?.server;
}
