/** The answer says that the server failed: what was asked for may have happened or not. */
export class FailedAnswer extends Error {
  override readonly name = 'FailedAnswer';
}

/** What workers of a load make of requests that are not answered, or answered by a failure. */
export interface Troubles {
  /**
   * A connection that breaks: it should not, and is a surprise; it ends its worker; or its worker goes
   * on with rows of which all is known.
   */
  readonly breaks: 'surprise' | 'end' | 'go on';
  /** An answer of 500 or above: a surprise, or as good as none. */
  readonly failures: 'surprise' | 'unanswered';
}

/** Of a server that may be killed, and does not fail otherwise. */
export const killed: Troubles = { breaks: 'end', failures: 'surprise' };

const pauseMs = 20;

/**
 * What a worker does after an error: `end`, or `go on` after a pause. Throws what is no trouble with
 * the server.
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

/** What was sent stays unanswered in the ledger. */
function isUnanswered(error: unknown): error is Error {
  const broken = /closed without a whole answer|ECONN|EPIPE/;
  return error instanceof FailedAnswer || (error instanceof Error && broken.test(error.message));
}

/** Throws when the answer is a failure that the load takes for none. */
export function throwFailure(
  status: number,
  load: { readonly troubles?: Troubles },
  text: string,
): void {
  if (status >= 500 && (load.troubles ?? killed).failures === 'unanswered') {
    throw new FailedAnswer(text);
  }
}
