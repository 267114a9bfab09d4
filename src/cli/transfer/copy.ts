import { holdingTimers } from '../../base/async/timers.js';
import { sleep } from '../../base/async/sleep.js';
import { placeText, type NamedBlob } from '../arguments/blob-place.js';
import type { BlobClient, CopyProgress } from '../client/blob-client.js';
import { briefRetries, retrying } from '../client/retry.js';
import { ServiceError } from '../client/service-error.js';
import { CommandFailure } from '../terminal/failure.js';

/** The delays between two questions for how far a copy is. */
const firstPollMs = 100;
const lastPollMs = 2_000;

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
  let state = await started(client, blob, source);
  const { id } = state;
  let copied = 0;
  for (let delayMs = firstPollMs; ; delayMs = Math.min(lastPollMs, delayMs * 2)) {
    onCopied(state.bytesDone - copied);
    copied = state.bytesDone;
    if (state.status === 'success') return;
    if (state.status !== 'pending') throw ended(blob, state);
    await sleep(holdingTimers, delayMs);
    state = await retrying(briefRetries, () => client.copyProgress(blob));
    if (state.id !== id) throw ended(blob, { ...state, status: 'replaced' });
  }
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
  return new CommandFailure(`The copy to ${placeText(blob)} was ${status}${why}.`);
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
