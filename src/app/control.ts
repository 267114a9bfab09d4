import { controlHost, ControlServer } from '../http/control/server.js';
import type { ControlTarget } from '../http/control/routes.js';
import { ContentWriteError } from '../content/errors.js';
import { StoreFailedError, StoreWriteError } from '../kv/errors.js';
import type { Logger } from '../http/exchange/logger.js';
import { ListenError } from './listen-error.js';
import { SnapshotError } from './snapshots.js';

/** The control API of a server, listening. Throws `ListenError`. */
export async function openControl(
  target: ControlTarget,
  { port, logger }: { readonly port: number; readonly logger: Logger },
): Promise<{ readonly server: ControlServer; readonly port: number }> {
  const isRefusal = (error: unknown): boolean => error instanceof SnapshotError;
  const isStoreFailure = (error: unknown): boolean =>
    error instanceof StoreWriteError ||
    error instanceof StoreFailedError ||
    error instanceof ContentWriteError;
  const server = new ControlServer({ target, logger, isRefusal, isStoreFailure });
  try {
    return { server, port: await server.listen(port) };
  } catch (error) {
    throw new ListenError({ service: 'control', host: controlHost, port }, error);
  }
}
