import { limitText, type KnownLimit } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { refused, type Refusal } from './refusal.js';
import { sharesOf } from './shares.js';

// Tables: all entities with one PartitionKey are in one partition; the service places ranges of
// partitions on servers.

/** The text by whose order partitions of an account are cut into ranges. */
export function tablePartitionKey({
  account,
  table,
  partitionKey,
}: {
  readonly account: string;
  readonly table: string;
  readonly partitionKey: string;
}): string {
  return `${account}/${table}/${partitionKey}`;
}

/** The load that a design puts on tables. */
export interface TableLoad {
  /** Entities of 1 KiB per second, all together. */
  readonly rate: number;
  readonly bytes: number;
}

/**
 * How many partitions and accounts carry a load at least, when it is spread evenly. Refused: an
 * invalid load, and a limit of 0.
 */
export function tableSpread(
  { rate, bytes }: TableLoad,
  own: readonly KnownLimit[] = [],
): { readonly kind: 'spread'; readonly partitions: number; readonly accounts: number } | Refusal {
  for (const [name, value] of Object.entries({ rate, bytes })) {
    if (!(value >= 0 && value < Infinity)) {
      return refused('bad-count', `${name}: ${value}; give a number from 0 on`);
    }
  }
  const account = { system: 'storage-account' } as const;
  const byRate = sharesOf(rate, limitOf({ ...account, name: 'account-rate' }, own));
  if (typeof byRate !== 'number') return byRate;
  const byBytes = sharesOf(bytes, limitOf({ ...account, name: 'account-bytes' }, own));
  if (typeof byBytes !== 'number') return byBytes;
  const partitions = sharesOf(rate, limitOf({ system: 'table', name: 'partition-rate' }, own));
  if (typeof partitions !== 'number') return partitions;
  return Object.freeze({ kind: 'spread', partitions, accounts: Math.max(byRate, byBytes) });
}

/** One write of a transaction. */
export interface GroupWrite {
  readonly partitionKey: string;
  readonly rowKey: string;
  /** Bytes in the request. */
  readonly bytes: number;
}

/** Why writes cannot be one entity group transaction; undefined: they can. */
export function groupFault(
  writes: readonly GroupWrite[],
  own: readonly KnownLimit[] = [],
): Refusal | undefined {
  const [first] = writes;
  if (first === undefined) return refused('bad-count', 'a transaction has at least one write');
  const other = writes.find(({ partitionKey }) => partitionKey !== first.partitionKey);
  if (other !== undefined) {
    const what = `'${first.partitionKey}' and '${other.partitionKey}' are two partitions`;
    return refused('different-places', `${what}; a transaction has one`);
  }
  const odd = writes.find((write) => !(write.bytes >= 0 && write.bytes < Infinity));
  if (odd !== undefined) {
    return refused('bad-count', `bytes of '${odd.rowKey}': ${odd.bytes}; give a number from 0 on`);
  }
  const rows = new Set(writes.map(({ rowKey }) => rowKey));
  if (rows.size < writes.length) {
    return refused('conflicting-keys', 'a transaction writes each entity once');
  }
  const bytes = writes.reduce((sum, write) => sum + write.bytes, 0);
  return (
    beyond(writes.length, limitOf({ system: 'table', name: 'group-entities' }, own)) ??
    beyond(bytes, limitOf({ system: 'table', name: 'group-bytes' }, own))
  );
}

function beyond(value: number, limit: KnownLimit | undefined): Refusal | undefined {
  if (limit === undefined || value <= limit.value) return undefined;
  const what = `${value.toLocaleString('en-US')} are more than ${limitText(limit)}`;
  return refused('too-much', `${what}; use several transactions`);
}
