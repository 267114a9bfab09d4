import type { Operation } from './history.js';

/** The behaviour of an object under sequential operations. States are immutable. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * The possible states after the operation; none when it cannot have this output here. Without an
   * output the response was lost, and the operation may have had any effect that is possible in
   * this state.
   */
  readonly step: (state: State, input: Input, output: Output | undefined) => readonly State[];
  /** Equal for equal states, and only for those. */
  readonly textOf: (state: State) => string;
}

export type Decision =
  | { readonly kind: 'linearizable' }
  /**
   * `reached`: how many operations one order explains at most; `stuck`: the ones after which it
   * fails.
   */
  | {
      readonly kind: 'not linearizable';
      readonly reached: number;
      readonly stuck: readonly string[];
    }
  /** More than `statesMax` states were visited. */
  | { readonly kind: 'undecided' };

const statesMax = 400_000;

/** A set of operations by their indices: all below `first`, and those with a bit in `ahead`. */
interface Done {
  /** The first operation that is not in the set. */
  readonly first: number;
  /** Bit 0 stands for the operation behind `first`. */
  readonly ahead: bigint;
}

interface Node<State> {
  readonly done: Done;
  readonly count: number;
  readonly state: State;
}

const nothing: Done = { first: 0, ahead: 0n };

/**
 * Looks for an order of all operations that explains every response and respects time: Wing and
 * Gong's search, with Lowe's cache of visited states.
 */
export function check<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): Decision {
  const operations = history.toSorted((left, right) => left.invokedAt - right.invokedAt);
  const answered = operations.filter(({ respondedAt }) => respondedAt !== Infinity).length;
  const tried = new Set<string>();
  const stack: Node<State>[] = [{ done: nothing, count: 0, state: model.initial }];
  let best: Node<State> = { done: nothing, count: -1, state: model.initial };
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.count === answered) return { kind: 'linearizable' };
    if (node.count > best.count) best = node;
    const { done, count, state } = node;
    for (const index of candidates(operations, done)) {
      const operation = operations[index];
      if (operation === undefined) continue;
      const isAnswered = operation.respondedAt !== Infinity;
      for (const next of model.step(state, operation.input, operation.output)) {
        const nextText = model.textOf(next);
        // Without a response it need not have happened: it has no place where it changes nothing.
        if (!isAnswered && nextText === model.textOf(state)) continue;
        const nextDone = withOperation(done, index);
        const text = `${nextDone.first} ${nextDone.ahead.toString(16)} ${nextText}`;
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

function withOperation({ first, ahead }: Done, index: number): Done {
  if (index !== first) return { first, ahead: ahead | (1n << BigInt(index - first - 1)) };
  let next = first + 1;
  let rest = ahead;
  for (; (rest & 1n) === 1n; rest >>= 1n) next += 1;
  return { first: next, ahead: rest >> 1n };
}

/**
 * Operations that may come next: those that began before any remaining one ended. The search takes
 * the last first, so operations without a response come first and the one that ended first comes
 * last.
 */
function candidates<Input, Output>(
  operations: readonly Operation<Input, Output>[],
  { first, ahead }: Done,
): number[] {
  let firstEnd = Infinity;
  const found: number[] = [];
  const unanswered = new Set<string>();
  for (let index = first; index < operations.length; index += 1) {
    const operation = operations[index];
    if (operation === undefined || operation.invokedAt > firstEnd) break;
    if (index > first && ((ahead >> BigInt(index - first - 1)) & 1n) === 1n) continue;
    firstEnd = Math.min(firstEnd, operation.respondedAt);
    if (operation.respondedAt === Infinity) {
      const text = JSON.stringify(operation.input);
      if (unanswered.has(text)) continue;
      unanswered.add(text);
    }
    found.push(index);
  }
  const endOf = (index: number) => operations[index]?.respondedAt ?? Infinity;
  return found.sort((left, right) =>
    endOf(right) === endOf(left) ? 0 : endOf(right) - endOf(left),
  );
}
