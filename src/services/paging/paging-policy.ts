import { createHash } from 'node:crypto';

/**
 * The shape of one page of results, beyond the query's own limits. Clients must accept every
 * combination (table-service §6).
 */
export interface PageShape {
  /** The maximum number of results. 0: no results and a token, where that is possible. */
  readonly countMax: number;
  /** The page ends where the partition of its first result ends. */
  readonly endsWithPartition: boolean;
  /**
   * The position in the token. `next`: the next result. `between`: a key between the last and the
   * next result, which need not exist. `partition`: a partition without a row key, when the next
   * result is its first.
   */
  readonly token: 'next' | 'between' | 'partition';
  /** There is a token even when no results follow. */
  readonly promisesMore: boolean;
}

/** Chooses the shapes of pages. */
export interface PagingPolicy {
  /** The shape of the page for a request, which is identified by all its parameters. */
  shapeOf(request: readonly unknown[]): PageShape;
}

const shortPageMax = 12;

/** The bytes of the hash that choose the parts of a shape. */
const [kindByte, countByte, tokenByte, promiseByte] = [0, 1, 2, 3];

/**
 * Pseudo-random shapes that depend only on the seed and the request, so every process gives the
 * same answer.
 */
export function pagingTestPolicy(seed: string): PagingPolicy {
  return {
    shapeOf(request) {
      const text = JSON.stringify([seed, ...request], (_, value: unknown) =>
        typeof value === 'bigint' ? `${value}n` : value,
      );
      return shapeOf(createHash('sha256').update(text).digest());
    },
  };
}

function shapeOf(chance: Buffer): PageShape {
  const promisesMore = choose(chance, promiseByte, 3) === 0;
  const token = (['next', 'between', 'partition'] as const)[choose(chance, tokenByte, 3)] ?? 'next';
  const short = 1 + choose(chance, countByte, shortPageMax);
  switch (choose(chance, kindByte, 4)) {
    case 0:
      return { countMax: 0, endsWithPartition: false, token, promisesMore };
    case 1:
      return { countMax: short, endsWithPartition: false, token, promisesMore };
    case 2:
      return { countMax: Infinity, endsWithPartition: true, token: 'partition', promisesMore };
    default:
      return { countMax: Infinity, endsWithPartition: false, token, promisesMore };
  }
}

function choose(chance: Buffer, byte: number, choices: number): number {
  return (chance[byte] ?? 0) % choices;
}
