import type { Model } from './checker.js';
import type { Operation } from './history.js';

export type QueueInput =
  | { readonly kind: 'put'; readonly serial: number }
  /**
   * Takes one message, for longer than any history. `alone`: no other request runs, so the result
   * is empty only when nothing is visible. Otherwise another get may be about to take the visible
   * message and then fail.
   */
  | { readonly kind: 'get'; readonly alone: boolean }
  /** Makes a message visible at once. */
  | { readonly kind: 'release'; readonly serial: number; readonly receipt: string }
  | { readonly kind: 'delete'; readonly serial: number; readonly receipt: string };

export type QueueOutput =
  /** The result of a put, a successful get or a release. */
  | {
      readonly kind: 'held';
      readonly serial: number;
      readonly receipt: string;
      readonly count: number;
    }
  /** The result of a get that found nothing, or of a deletion. */
  | { readonly kind: 'done' }
  /** The receipt is not the current one of the message. */
  | { readonly kind: 'refused' };

interface Message {
  readonly isVisible: boolean;
  readonly receipt: string;
  /** The dequeue count. */
  readonly count: number;
}

type Messages = Readonly<Record<number, Message>>;

/** The response with the receipt was lost. */
const unknownReceipt = '?';

/** The highest dequeue count that any response of the history shows of a message. */
type DequeueCounts = ReadonlyMap<number, number>;

/**
 * A queue whose messages are held forever or made visible at once, as seen by `history`: what that
 * shows later of a message says which lost requests cannot have had an effect on it before.
 */
export function queueModel(
  history: readonly Operation<QueueInput, QueueOutput>[],
): Model<Messages, QueueInput, QueueOutput> {
  const shown = dequeueCounts(history);
  return {
    initial: {},
    step(state, input, output) {
      if (input.kind === 'put') return put(state, input.serial, output, shown);
      if (input.kind === 'get') return get(state, input.alone, output, shown);
      return useReceipt(state, input, output, shown);
    },
    textOf: (state) =>
      Object.entries(state)
        .map(
          ([serial, { isVisible, receipt, count }]) => `${serial}:${isVisible},${receipt},${count}`,
        )
        .join(' '),
  };
}

function dequeueCounts(history: readonly Operation<QueueInput, QueueOutput>[]): DequeueCounts {
  const shown = new Map<number, number>();
  for (const { input, output } of history) {
    if (input.kind !== 'get' || output?.kind !== 'held') continue;
    shown.set(output.serial, Math.max(output.count, shown.get(output.serial) ?? 0));
  }
  return shown;
}

/**
 * True when a response shows the message after this state. A lost get holds its message forever and
 * a deletion ends it, so neither comes before such a response.
 */
function isShownLater(
  serial: number | string,
  { count }: Pick<Message, 'count'>,
  shown: DequeueCounts,
): boolean {
  return count < (shown.get(Number(serial)) ?? 0);
}

function put(
  state: Messages,
  serial: number,
  output: QueueOutput | undefined,
  shown: DequeueCounts,
): Messages[] {
  if (output !== undefined && output.kind !== 'held') return [];
  const receipt = output?.receipt ?? unknownReceipt;
  const message: Message = { isVisible: true, receipt, count: 0 };
  const next = { ...state, [serial]: message };
  if (output !== undefined) return [next];
  // A message that nobody ever gets need not be there.
  return isShownLater(serial, message, shown) ? [state, next] : [state];
}

function get(
  state: Messages,
  alone: boolean,
  output: QueueOutput | undefined,
  shown: DequeueCounts,
): Messages[] {
  const visible = Object.entries(state).filter(([, { isVisible }]) => isVisible);
  const taken = (serial: string | number, receipt: string, count: number): Messages => ({
    ...state,
    [serial]: { isVisible: false, receipt, count },
  });
  if (output === undefined) {
    const each = visible
      .filter(([serial, message]) => !isShownLater(serial, message, shown))
      .map(([serial, { count }]) => taken(serial, unknownReceipt, count + 1));
    return [state, ...each];
  }
  if (output.kind === 'done') return visible.length === 0 || !alone ? [state] : [];
  if (output.kind === 'refused') return [];
  const { serial, receipt, count } = output;
  const message = state[serial];
  if (message === undefined || !message.isVisible || message.count + 1 !== count) return [];
  return [taken(serial, receipt, count)];
}

function useReceipt(
  state: Messages,
  { kind, serial, receipt }: Extract<QueueInput, { readonly receipt: string }>,
  output: QueueOutput | undefined,
  shown: DequeueCounts,
): Messages[] {
  const message = state[serial];
  const isCurrent = message !== undefined && message.receipt === receipt;
  if (!isCurrent) return output === undefined || output.kind === 'refused' ? [state] : [];
  if (output?.kind === 'refused') return [];
  if (output === undefined && kind === 'delete' && isShownLater(serial, message, shown)) {
    return [state];
  }
  const next: Record<number, Message> = { ...state };
  if (kind === 'delete') delete next[serial];
  else {
    const given = output?.kind === 'held' ? output.receipt : unknownReceipt;
    next[serial] = { ...message, isVisible: true, receipt: given };
  }
  return output === undefined ? [state, next] : [next];
}
