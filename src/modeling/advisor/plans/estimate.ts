/**
 * An estimated number: at best, as expected and at worst. `worst` is the worst that the workload
 * allows; the service may still end a page early, or fail.
 */
export interface Estimate {
  readonly best: number;
  readonly expected: number;
  readonly worst: number;
}

export const none: Estimate = Object.freeze({ best: 0, expected: 0, worst: 0 });

export function exactly(value: number): Estimate {
  return { best: value, expected: value, worst: value };
}

export function mapEstimate(estimate: Estimate, map: (value: number) => number): Estimate {
  return {
    best: map(estimate.best),
    expected: map(estimate.expected),
    worst: map(estimate.worst),
  };
}

export function sumOf(estimates: readonly Estimate[]): Estimate {
  return estimates.reduce(
    (sum, { best, expected, worst }) => ({
      best: sum.best + best,
      expected: sum.expected + expected,
      worst: sum.worst + worst,
    }),
    none,
  );
}
