import type { Model } from './checker.js';

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

/** A queue whose messages are held forever or made visible at once. */
export const queueModel: Model<Messages, QueueInput, QueueOutput> = {
  initial: {},
  step(state, input, output) {
    if (input.kind === 'put') return put(state, input.serial, output);
    if (input.kind === 'get') return get(state, input.alone, output);
    return useReceipt(state, input, output);
  },
  textOf: (state) =>
    Object.entries(state)
      .map(
        ([serial, { isVisible, receipt, count }]) => `${serial}:${isVisible},${receipt},${count}`,
      )
      .join(' '),
};

function put(state: Messages, serial: number, output: QueueOutput | undefined): Messages[] {
  if (output !== undefined && output.kind !== 'held') return [];
  const receipt = output?.receipt ?? unknownReceipt;
  const next = { ...state, [serial]: { isVisible: true, receipt, count: 0 } };
  return output === undefined ? [state, next] : [next];
}

function get(state: Messages, alone: boolean, output: QueueOutput | undefined): Messages[] {
  const visible = Object.entries(state).filter(([, { isVisible }]) => isVisible);
  const taken = (serial: string | number, receipt: string, count: number): Messages => ({
    ...state,
    [serial]: { isVisible: false, receipt, count },
  });
  if (output === undefined) {
    const each = visible.map(([serial, { count }]) => taken(serial, unknownReceipt, count + 1));
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
): Messages[] {
  const message = state[serial];
  const isCurrent = message !== undefined && message.receipt === receipt;
  if (!isCurrent) return output === undefined || output.kind === 'refused' ? [state] : [];
  if (output?.kind === 'refused') return [];
  const next: Record<number, Message> = { ...state };
  if (kind === 'delete') delete next[serial];
  else {
    const given = output?.kind === 'held' ? output.receipt : unknownReceipt;
    next[serial] = { ...message, isVisible: true, receipt: given };
  }
  return output === undefined ? [state, next] : [next];
}
