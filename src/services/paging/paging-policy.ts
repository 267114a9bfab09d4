import { createHash } from 'node:crypto';

/**
 * What one page of results looks like, beyond what the query asks for. Every combination is one
 * that clients must understand (table-service §6).
 */
export interface PageShape {
  /** Results in the page, at most. 0: none, but a token, where that is possible. */
  readonly countMax: number;
  /** The page has results of one partition only. */
  readonly endsWithPartition: boolean;
  /**
   * How the token is written. `next`: it names the next result. `between`: a key behind the last
   * result, which need not exist. `partition`: a partition alone, where the next result is the
   * first one of it.
   */
  readonly token: 'next' | 'between' | 'partition';
  /** There is a token even when nothing follows. */
  readonly promisesMore: boolean;
}

/** Decides over the shape of pages. */
export interface PagingPolicy {
  /** The shape of the page that answers a request, told apart by all that it asks for. */
  shapeOf(request: readonly unknown[]): PageShape;
}

const shortPageMax = 12;

/** Bytes of the hash that decide over each part of a shape. */
const [kindByte, countByte, tokenByte, promiseByte] = [0, 1, 2, 3];

/**
 * Shapes that look random and are decided by the seed and the request alone: the same request has
 * the same answer in every process, however many run beside it.
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
