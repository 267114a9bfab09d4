import type { OperationName, Operations } from './operations.js';

export const contestants = ['client', 'client again', 'entities'] as const;
export type Contestant = (typeof contestants)[number];

/** Calls of one contestant, one after the other. */
export interface Block {
  readonly operation: OperationName;
  readonly contestant: Contestant;
  readonly round: number;
  /** Median over the calls. */
  readonly micros: number;
  /** Processor time of this process, all its threads, per call. */
  readonly cpuMicros: number;
}

/** Calls in a block: about as long for every operation. */
const callsOf: Readonly<Record<OperationName, number>> = {
  get: 100,
  insert: 100,
  upsert: 100,
  'page of 100': 30,
  'page of 1,000': 8,
  'EGT of 100': 10,
};
/** Rounds before the clock starts: code compiles and connections open. */
const warmUpRounds = 12;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

async function runBlock(call: () => Promise<void>, calls: number) {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let index = 0; index < calls; index += 1) {
    const started = performance.now();
    await call();
    times.push((performance.now() - started) * 1000);
  }
  const { user, system } = process.cpuUsage(before);
  return { micros: median(times), cpuMicros: (user + system) / calls };
}

/**
 * Operation by operation; in each round the contestants take turns, and the first of a round
 * changes.
 */
export async function runRounds(
  operations: Readonly<Record<Contestant, Operations>>,
  names: readonly OperationName[],
  rounds: number,
): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  for (const operation of names) {
    for (let round = -warmUpRounds; round < rounds; round += 1) {
      const first = Math.abs(round) % contestants.length;
      for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
        const result = await runBlock(operations[contestant][operation], callsOf[operation]);
        if (round >= 0) blocks.push({ operation, contestant, round, ...result });
      }
    }
  }
  return blocks;
}

/** The medians over the rounds, and the median of what each round says of a contestant. */
export interface Comparison {
  readonly operation: OperationName;
  readonly micros: number;
  readonly cpuMicros: number;
  readonly timeRatio: number;
  readonly cpuRatio: number;
}

/** A contestant beside `client`, round by round: a machine that is busy for a while slows both. */
export function compare(
  blocks: readonly Block[],
  operation: OperationName,
  contestant: Contestant,
): Comparison {
  const of = (who: Contestant): readonly Block[] =>
    blocks.filter((block) => block.operation === operation && block.contestant === who);
  const own = of(contestant);
  const other = new Map(of('client').map((block) => [block.round, block]));
  const ratios = (value: (block: Block) => number): number =>
    median(
      own.flatMap((block) => {
        const beside = other.get(block.round);
        return beside === undefined ? [] : [value(block) / value(beside)];
      }),
    );
  return {
    operation,
    micros: median(own.map(({ micros }) => micros)),
    cpuMicros: median(own.map(({ cpuMicros }) => cpuMicros)),
    timeRatio: ratios(({ micros }) => micros),
    cpuRatio: ratios(({ cpuMicros }) => cpuMicros),
  };
}
