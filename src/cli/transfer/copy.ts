import { locationText, type NamedBlob } from '../arguments/blob-location.js';
import type { BlobClient, CopyProgress } from '../client/blob-client.js';
import { briefRetries, finalAnswer, retrying } from '../client/retry.js';
import { ServiceError } from '../client/service-error.js';
import { CommandFailure } from '../terminal/failure.js';

/** The delays between two questions about the progress of a copy, in milliseconds. */
const copyDelayMs = { first: 100, last: 2_000 } as const;

/**
 * Lets the service of a blob copy another one, and waits for the end. `source`: its URL, with a
 * signature where the service needs one. `onCopied`: called with further bytes that are there.
 *
 * @throws {ServiceError | ConnectionError | CommandFailure}
 */
export async function copyFrom(
  client: BlobClient,
  blob: NamedBlob,
  source: string,
  onCopied: (bytes: number) => void,
): Promise<void> {
  const first = await started(client, blob, source);
  let known: CopyProgress | undefined;
  const next = async (): Promise<CopyProgress> => {
    if (known === undefined) return first;
    const state = await retrying(briefRetries, () => client.copyProgress(blob));
    if (state.id !== first.id) throw ended(blob, { ...state, status: 'replaced' });
    return state;
  };
  const end = await finalAnswer(
    async () => {
      const state = await next();
      onCopied(state.bytesDone - (known?.bytesDone ?? 0));
      known = state;
      return state;
    },
    ({ status }) => status !== 'pending',
    { delayMs: copyDelayMs },
  );
  if (end.status !== 'success') throw ended(blob, end);
}

/** A copy that is done when it is answered has as many bytes as its target. */
async function started(client: BlobClient, blob: NamedBlob, source: string): Promise<CopyProgress> {
  try {
    const begun = await retrying(briefRetries, () => client.startCopy(blob, source));
    if (begun.status !== 'success') return begun;
    const { bytesDone } = await retrying(briefRetries, () => client.copyProgress(blob));
    return { ...begun, bytesDone };
  } catch (error) {
    throw withSourceHint(error);
  }
}

function ended(blob: NamedBlob, { status, description }: CopyProgress): CommandFailure {
  const why = description === undefined ? '' : `: ${description}`;
  return new CommandFailure(`The copy to ${locationText(blob)} was ${status}${why}.`);
}

function withSourceHint(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'CannotVerifyCopySource') return error;
  return new ServiceError(
    error.status,
    error.code,
    `${error.message} A blob of another account is copied from its URL with a signature ` +
      '(tabularium sas blob), and this server copies from other servers as its --copy-source ' +
      'allows. Or let the bytes pass through this machine: tabularium blob get, then blob put.',
  );
}
