import { controlHost, ControlServer } from '../http/control/server.js';
import type { ControlTarget } from '../http/control/routes.js';
import { ContentWriteError } from '../content/errors.js';
import {
  StoreClosedError,
  StoreFailedError,
  StoreUnavailableError,
  StoreWriteError,
} from '../kv/errors.js';
import type { Logger } from '../http/exchange/logger.js';
import { ListenError } from './listen-error.js';
import { isMissingMember } from '../partition/operations/missing-member.js';
import { TakenOverError } from '../partition/operations/tools.js';
import { ControlError } from '../http/control/reply.js';
import { SnapshotError } from './snapshots.js';

/** The control API of a server, listening. Throws `ListenError`. */
export async function openControl(
  target: ControlTarget,
  { port, logger }: { readonly port: number; readonly logger: Logger },
): Promise<{ readonly server: ControlServer; readonly port: number }> {
  const server = new ControlServer({ target, logger, failureOf });
  try {
    return { server, port: await server.listen(port) };
  } catch (error) {
    throw new ListenError({ service: 'control', host: controlHost, port }, error);
  }
}

/** The seconds after which a client may retry while a store does not answer. */
const retryAfterSeconds = 1;

const stoppingText = 'This server is stopping: ask again when it has started.';

/**
 * The answer to an error whose message says what is wrong and what to do; undefined: a defect. 503:
 * a store is away, and nothing was done, or the server stops. 409: another server has the
 * operation, or this one lacks a store of it. 500: data cannot be written.
 */
function failureOf(error: unknown): ControlError | undefined {
  if (error instanceof SnapshotError) return new ControlError(400, error.message);
  if (isMissingMember(error) || error instanceof TakenOverError) {
    return new ControlError(409, error.message);
  }
  if (error instanceof StoreUnavailableError) return away(error.message);
  if (error instanceof StoreClosedError) return away(stoppingText);
  const isStoreFailure =
    error instanceof StoreWriteError ||
    error instanceof StoreFailedError ||
    error instanceof ContentWriteError;
  return isStoreFailure ? new ControlError(500, error.message) : undefined;
}

function away(message: string): ControlError {
  return new ControlError(503, message, { 'Retry-After': String(retryAfterSeconds) });
}
