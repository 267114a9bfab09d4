/**
 * The prices of a table service, as data: a caller passes the prices of the day, the region and the
 * contract. No current prices are built in.
 */
export interface PriceTable {
  /** The service and its redundancy. Shown in every report. */
  readonly label: string;
  readonly region: string;
  /** The day on which they were valid, such as `2024-05-31`. Shown in every report. */
  readonly asOf: string;
  /** Such as `USD`. */
  readonly currency: string;
  /** Per GiB (2^30 bytes) and month, up to a number of GiB; the last one has no `upToGib`. */
  readonly capacity: readonly CapacityPrice[];
  /** Per 10,000 requests of a class. */
  readonly per10kRequests: Readonly<Record<BilledClass, number>>;
}

/** The price of one step of capacity. */
export interface CapacityPrice {
  readonly upToGib?: number;
  readonly perGibMonth: number;
}

/** Classes of requests that price lists distinguish. */
export type BilledClass = 'read' | 'query' | 'write' | 'delete' | 'transaction' | 'queue';

/**
 * Example prices: an account with local redundancy in the United States around 2020, as public cost
 * estimates of that time show them. They are neither current nor an offer: give your own.
 */
export const examplePrices: PriceTable = Object.freeze({
  label: 'an example, local redundancy; not the prices of today',
  region: 'United States',
  asOf: '2020-04-08',
  currency: 'USD',
  capacity: Object.freeze([Object.freeze({ perGibMonth: 0.045 })]),
  per10kRequests: Object.freeze({
    read: 0.00036,
    query: 0.00036,
    write: 0.00036,
    delete: 0.00036,
    transaction: 0.00036,
    queue: 0.00036,
  }),
});

const gib = 2 ** 30;
/** The hours of a month in bills: 365 × 24 / 12. */
export const hoursPerMonth = 730;
export const secondsPerMonth = hoursPerMonth * 3600;

/** The cost of bytes for a month, in the currency of the prices. */
export function capacityCost({ capacity }: PriceTable, bytes: number): number {
  let rest = bytes / gib;
  let from = 0;
  let cost = 0;
  for (const { upToGib = Infinity, perGibMonth } of capacity) {
    const part = Math.min(rest, upToGib - from);
    cost += part * perGibMonth;
    rest -= part;
    from = upToGib;
    if (rest <= 0) break;
  }
  return cost;
}

/** The cost of requests, in the currency of the prices. A transaction is one request. */
export function requestCost(
  { per10kRequests }: PriceTable,
  billed: BilledClass,
  requests: number,
): number {
  return (requests / 10_000) * per10kRequests[billed];
}
