import { nameOf, type Bytes } from './bytes.js';
import type { Row } from './session.js';

/** What is known of a partition of the cluster. */
export interface Head {
  /** The version of its last change; undefined: there was none yet. */
  readonly last: number | undefined;
  /** A commit of this prefix and keys of the store that has not ended yet. */
  readonly pending: Bytes | undefined;
  /** The last change of each process of late. */
  readonly marks: Readonly<Record<string, bigint>>;
}

/** A version of an entry. */
export interface RowVersion {
  readonly row: Bytes;
  readonly version: number;
  /** Undefined: it is gone, or values were not asked for. */
  readonly value: Bytes | undefined;
  readonly isGone: boolean;
}

export const noHead: Head = { last: undefined, pending: undefined, marks: {} };

export function headOf(row: Row | undefined): Head {
  if (row === undefined) return noHead;
  const { last, pending, marks } = row;
  return {
    last: last === null || last === undefined ? undefined : Number(last),
    pending: (pending as Buffer | null) ?? undefined,
    marks: (marks as Record<string, bigint> | null) ?? {},
  };
}

export function versionOf({ row, version, gone, value }: Row): RowVersion {
  return {
    row: row as Buffer,
    version: Number(version),
    value: (value as Buffer | null | undefined) ?? undefined,
    isGone: gone === true,
  };
}

/** The state at `last`: of each row its newest version up to that one, by the name of the row. */
export function stateAt(last: number, versions: Iterable<RowVersion>): Map<string, RowVersion> {
  const newest = new Map<string, RowVersion>();
  for (const each of versions) {
    if (each.version > last) continue;
    const name = nameOf(each.row);
    if ((newest.get(name)?.version ?? 0) < each.version) newest.set(name, each);
  }
  return newest;
}
