import type { OperationInfo } from '../../http/control/partitions.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { notice } from '../terminal/notice.js';

// What a command says in one line when Ctrl-C ends it. The work goes on in the server that was
// asked; where the command has opened the stores, another process takes it over.

export interface WorkPlace {
  /** Whether this process does the work. */
  readonly doesWork: boolean;
}

const see = 'See tabularium partition list.';
const takenOver = 'in about ten seconds, or when it starts';

/** Of operations whose ends a command waits for. `kind`: what they are, where it is known. */
export function operationsGoOn(
  operations: readonly number[],
  { doesWork, kind }: WorkPlace & { readonly kind?: OperationInfo['kind'] | undefined },
): string {
  const isOne = operations.length === 1;
  const named = `${isOne ? 'Operation' : 'Operations'} ${operations.join(', ')}`;
  const place = doesWork
    ? `${isOne ? 'stops' : 'stop'} with this process. A server of these stores goes on with ` +
      `${isOne ? 'it' : 'them'} ${takenOver}.`
    : `${isOne ? 'goes' : 'go'} on in the server.`;
  const canBeUndone = kind !== 'split' && kind !== 'merge';
  const undo = `To undo a move: ${cancelCommand(isOne ? operations[0] : undefined)}.`;
  return [named, place, see, ...(canBeUndone ? [undo] : [])].join(' ');
}

/** Of a backup or a restore: only the process that has the directory can carry it out. */
export function copyGoesOn(
  { doesWork }: WorkPlace,
  copy: {
    readonly kind: 'backup' | 'restore';
    readonly range: number;
    readonly directory: string;
    /** Undefined: the server does not tell it. */
    readonly operation?: number | undefined;
  },
): string {
  const { kind, range, directory, operation } = copy;
  const cancel = cancelCommand(operation);
  const named = operation === undefined ? `The ${kind}` : `The ${kind}, operation ${operation},`;
  if (!doesWork) return `${named} goes on in the server. ${see} To end it: ${cancel}.`;
  const left =
    kind === 'backup'
      ? `${directory} has no backup: delete it. A server of these stores frees range ${range}`
      : `A server of these stores deletes what was restored, and serves range ${range} again,`;
  return `${named} ends with this process. ${left} ${takenOver}; without one: ${cancel}.`;
}

/** Of an operation that is being undone. */
export function undoingGoesOn(operation: number, { doesWork }: WorkPlace): string {
  return doesWork
    ? `This process did that, and ends. A server of these stores goes on undoing operation ` +
        `${operation} ${takenOver}. ${see}`
    : `The server goes on undoing operation ${operation}. ${see}`;
}

/** Of a range that is measured and split then. */
export function halvingGoesOn(range: number, { doesWork }: WorkPlace): string {
  return doesWork
    ? `Range ${range} was measured only, unless tabularium partition list has an operation on it.`
    : `The server goes on measuring range ${range}, and splits it then. ${see}`;
}

/** Of keys that are read. */
export function readingGoesOn({ doesWork }: WorkPlace): string {
  return doesWork
    ? 'It ends with this process; nothing was changed.'
    : 'The server goes on with it, and changes nothing.';
}

/** Of a comparison of the map with the stores. */
export function comparisonGoesOn(
  place: WorkPlace,
  { range, repair }: { readonly range?: number | undefined; readonly repair?: boolean },
): string {
  if (!place.doesWork && repair === true) {
    return 'The server goes on with it, and repairs what it finds.';
  }
  if (!place.doesWork || range !== undefined) return readingGoesOn(place);
  return 'It ends with this process; the same command goes on where it was.';
}

/**
 * Awaits the answer to a request that begins something, and tells whoever does not wait for it that
 * it may begin all the same.
 */
export async function begun<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const release = onInterrupt(() => notice(`It may begin all the same. ${see}`));
  try {
    return await answer;
  } finally {
    release();
  }
}

function cancelCommand(operation: number | undefined): string {
  return `tabularium partition cancel ${operation ?? 'NUMBER'}`;
}
