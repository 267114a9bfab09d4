import { median } from '../figures.js';
import type { OperationName } from './operations.js';

/** The client takes part twice: the difference of its ratio from 1 is noise. */
export const contestants = ['client', 'client again', 'entities'] as const;
export type Contestant = (typeof contestants)[number];

/** Calls of one operation, one after the other. */
export interface BlockOrder {
  readonly operation: OperationName;
  readonly calls: number;
}

export interface BlockResult {
  /** Median over the calls. */
  readonly micros: number;
  /** Processor time of the process, all its threads, per call. */
  readonly cpuMicros: number;
}

/** The cost of one block of calls for one contestant. */
export interface Block extends BlockResult {
  readonly operation: OperationName;
  readonly contestant: Contestant;
  readonly round: number;
}

/** The medians over the rounds, of the costs and of their ratios to those of the client. */
export interface Comparison {
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
    micros: median(own.map(({ micros }) => micros)),
    cpuMicros: median(own.map(({ cpuMicros }) => cpuMicros)),
    timeRatio: ratios(({ micros }) => micros),
    cpuRatio: ratios(({ cpuMicros }) => cpuMicros),
  };
}
