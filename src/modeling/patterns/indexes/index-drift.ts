import { sameKey } from '../../rows/row-parts.js';
import { unreachable } from '../../../base/invariant.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { DecodeError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { isInRowList } from '../index-entities/row-list.js';
import { isCopyEntry, primaryOf, staleNames, textIn, type IndexEntry } from './index-entry.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedCopies, ResolvedIndex, ResolvedLists } from './with-indexes.js';

interface DriftKeys {
  /** The name of the index. */
  readonly index: string;
  /** The key of the entity. */
  readonly primary: RowKey;
  /** The key of the index row, or of the head of its list. For a blob, its name is the RowKey. */
  readonly key: RowKey;
}

/** A difference between an index and its entities. */
export type Drift =
  /** The entity should be in the index at this key, but is not. */
  | ({ readonly kind: 'missing' } & DriftKeys)
  /** The index has an entity at this key that does not exist or belongs elsewhere. */
  | ({ readonly kind: 'dangling' } & DriftKeys)
  /** The copy differs from the entity in these stored properties. */
  | ({ readonly kind: 'stale'; readonly names: readonly string[] } & DriftKeys)
  /** Another entity with the same value is in the index. Only new values repair that. */
  | ({ readonly kind: 'taken'; readonly by: RowKey | undefined } & DriftKeys)
  /** A row that its definition cannot read. */
  | ({ readonly kind: 'unreadable'; readonly reason: string } & DriftKeys);

/** A comparison to make: an entity, and a key at which an index has it or should have it. */
export interface Candidate {
  readonly index: ResolvedIndex;
  readonly primary: RowKey;
  readonly key: RowKey;
}

/** The reads of a comparison. */
export interface DriftReads {
  row(table: TableGateway, key: RowKey): Promise<StoredRow | undefined>;
  /** The texts of a blob; empty when there is none. */
  blob(index: ResolvedLists, name: string): Promise<ReadonlySet<string>>;
}

/** Compares the index entry at a key with the entity. Undefined when they agree. */
export async function findDrift(
  places: IndexPlaces,
  reads: DriftReads,
  candidate: Candidate,
): Promise<Drift | undefined> {
  const { index, primary, key } = candidate;
  try {
    const row = await reads.row(places.table, primary);
    const isEntity = row !== undefined && places.codec.matches(row);
    const wanted = places.entryAt(index, isEntity ? row : undefined, key);
    switch (index.kind) {
      case 'copy':
        return await copyDrift(places, reads, { ...candidate, index }, wanted);
      case 'list':
        return await listDrift(places, reads, { ...candidate, index }, wanted);
      default:
        return unreachable(index);
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { kind: 'unreadable', index: index.name, primary, key, reason: error.message };
  }
}

async function copyDrift(
  places: IndexPlaces,
  reads: DriftReads,
  { index, primary, key }: Candidate & { readonly index: ResolvedCopies },
  wanted: IndexEntry | undefined,
): Promise<Drift | undefined> {
  const place = { index: index.name, primary, key };
  const stored = await reads.row(places.tableOf(index), key);
  if (stored === undefined) return wanted === undefined ? undefined : { kind: 'missing', ...place };
  const owner = primaryOf(index, stored);
  if (owner !== undefined && sameKey(owner, primary)) {
    if (wanted === undefined || !isCopyEntry(wanted)) return { kind: 'dangling', ...place };
    const names = staleNames(wanted, stored);
    return names.length === 0 ? undefined : { kind: 'stale', names, ...place };
  }
  if (wanted === undefined) return undefined;
  if (owner === undefined) return { kind: 'taken', by: undefined, ...place };
  const row = await reads.row(places.table, owner);
  const isEntity = row !== undefined && places.codec.matches(row);
  const rival = places.entryAt(index, isEntity ? row : undefined, key);
  return rival !== undefined
    ? { kind: 'taken', by: owner, ...place }
    : { kind: 'missing', ...place };
}

async function listDrift(
  places: IndexPlaces,
  reads: DriftReads,
  { index, primary, key }: Candidate & { readonly index: ResolvedLists },
  wanted: IndexEntry | undefined,
): Promise<Drift | undefined> {
  const text = textIn(index, primary);
  const isIn =
    index.place === 'blob'
      ? (await reads.blob(index, key.rowKey)).has(text)
      : await isInRowList(
          (each) => reads.row(places.tableOf(index), each),
          key,
          index.layout,
          text,
        );
  if (isIn === (wanted !== undefined)) return undefined;
  return { kind: isIn ? 'dangling' : 'missing', index: index.name, primary, key };
}

const confirmationsMax = 3;

/**
 * Reads everything again and returns the drift that remains while the entity does not change;
 * undefined when there is none.
 */
export async function confirmDrift(
  places: IndexPlaces,
  candidate: Candidate,
): Promise<Drift | undefined> {
  for (let count = 1; ; count++) {
    const before = await places.table.get(candidate.primary, []);
    const drift = await findDrift(places, freshReads(places), candidate);
    if (drift === undefined) return undefined;
    const after = await places.table.get(candidate.primary, []);
    if (before?.etag === after?.etag || count === confirmationsMax) return drift;
  }
}

/** Reads the current state each time. */
export function freshReads(places: IndexPlaces): DriftReads {
  return {
    row: (table, key) => table.get(key),
    blob: async (index, name) => new Set((await places.blobsOf(index).read(name))?.list),
  };
}
