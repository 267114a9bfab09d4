import type { Operation } from './history.js';

/** What an object does, one operation after another. States are values that are never changed. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * The states that the operation may leave. None: with this output it cannot happen here. Without an
   * output it is one whose answer never came, and may have done whatever it can do in this state.
   */
  readonly step: (state: State, input: Input, output: Output | undefined) => readonly State[];
  /** The same text for equal states, and for no others. */
  readonly textOf: (state: State) => string;
}

export type Decision =
  | { readonly kind: 'linearizable' }
  /** `reached`: the longest beginning that one order explains, and `stuck` what it cannot explain next. */
  | {
      readonly kind: 'not linearizable';
      readonly reached: number;
      readonly stuck: readonly string[];
    }
  /** More than `statesMax` states were looked at. */
  | { readonly kind: 'undecided' };

const statesMax = 400_000;

interface Node<State> {
  readonly done: bigint;
  readonly count: number;
  readonly state: State;
}

/**
 * Whether one order of all operations explains every answer and keeps to time: Wing and Gong's search,
 * with Lowe's memory of what has been tried.
 */
export function check<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): Decision {
  const operations = history.toSorted((left, right) => left.invokedAt - right.invokedAt);
  const answered = operations.filter(({ respondedAt }) => respondedAt !== Infinity).length;
  const tried = new Set<string>();
  const stack: Node<State>[] = [{ done: 0n, count: 0, state: model.initial }];
  let best: Node<State> = { done: 0n, count: -1, state: model.initial };
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.count === answered) return { kind: 'linearizable' };
    if (node.count > best.count) best = node;
    const { done, count, state } = node;
    for (const index of candidates(operations, done)) {
      const operation = operations[index];
      if (operation === undefined) continue;
      const isAnswered = operation.respondedAt !== Infinity;
      for (const next of model.step(state, operation.input, operation.output)) {
        const nextDone = done | (1n << BigInt(index));
        const text = `${nextDone.toString(36)} ${model.textOf(next)}`;
        if (tried.has(text)) continue;
        if (tried.size >= statesMax) return { kind: 'undecided' };
        tried.add(text);
        stack.push({ done: nextDone, count: count + (isAnswered ? 1 : 0), state: next });
      }
    }
  }
  const stuck = candidates(operations, best.done).map((index) => JSON.stringify(operations[index]));
  return {
    kind: 'not linearizable',
    reached: best.count,
    stuck: [`state ${model.textOf(best.state)}`, ...stuck],
  };
}

/**
 * Operations that may come next: begun before any that is left has ended. What was never answered
 * comes first, so that the search, which takes the last first, tries it last; and what ended first
 * comes last.
 */
function candidates<Input, Output>(
  operations: readonly Operation<Input, Output>[],
  done: bigint,
): number[] {
  let firstEnd = Infinity;
  const found: number[] = [];
  for (const [index, operation] of operations.entries()) {
    if (operation.invokedAt > firstEnd) break;
    if (((done >> BigInt(index)) & 1n) === 1n) continue;
    firstEnd = Math.min(firstEnd, operation.respondedAt);
    found.push(index);
  }
  const endOf = (index: number) => operations[index]?.respondedAt ?? Infinity;
  return found.sort((left, right) =>
    endOf(right) === endOf(left) ? 0 : endOf(right) - endOf(left),
  );
}
