/** A server error: the request may have been applied or not. */
export class FailedAnswer extends Error {
  override readonly name = 'FailedAnswer';
}

/** How the workers of a load treat requests that fail or get no response. */
export interface Troubles {
  /**
   * A broken connection is a surprise, ends its worker, or lets the worker continue with other
   * rows.
   */
  readonly breaks: 'surprise' | 'end' | 'go on';
  /** A response of 500 or above is a surprise, or counts as no response. */
  readonly failures: 'surprise' | 'unanswered';
}

/** For a server that may be killed and has no other faults. */
export const killed: Troubles = { breaks: 'end', failures: 'surprise' };

const pauseMs = 20;

/**
 * What a worker does after an error: it ends, or continues after a pause. Throws errors that do not
 * come from the server.
 */
export async function afterTrouble(
  error: unknown,
  load: { readonly troubles?: Troubles; readonly surprises: string[] },
): Promise<'end' | 'go on'> {
  const { breaks } = load.troubles ?? killed;
  if (!isUnanswered(error)) throw error;
  if (breaks === 'surprise' && !(error instanceof FailedAnswer)) {
    load.surprises.push(error.message);
    return 'end';
  }
  if (breaks === 'end' && !(error instanceof FailedAnswer)) return 'end';
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  return 'go on';
}

/** True for errors after which the ledger keeps the request as unanswered. */
function isUnanswered(error: unknown): error is Error {
  const broken = /closed without a whole answer|ECONN|EPIPE/;
  return error instanceof FailedAnswer || (error instanceof Error && broken.test(error.message));
}

/** Throws when the response is a failure that counts as no response. */
export function throwFailure(
  status: number,
  load: { readonly troubles?: Troubles },
  text: string,
): void {
  if (status >= 500 && (load.troubles ?? killed).failures === 'unanswered') {
    throw new FailedAnswer(text);
  }
}
