import cluster from 'node:cluster';
import { portOf } from '../../../app/endpoints.js';
import { byServiceOption } from '../../../app/options/addresses.js';
import { deferred } from '../../../base/async/deferred.js';
import { createWorkerServer } from '../../../app/server.js';
import { byService } from '../../../model/services/services.js';
import { messageOf } from '../../terminal/failure.js';
import { startFailure } from '../failure.js';
import { openStartLog } from '../log.js';
import { endProcess, exitCodes } from '../process-end.js';
import { endWhenBroken } from '../process-guard.js';
import type { Config } from '../../config/config-file.js';
import { settingsChanger } from '../changes.js';
import type { SettingsFor } from '../settings.js';
import { isMessage, type PrimaryMessage, type WorkerMessage } from './messages.js';

type MessageOf<Kind> = Extract<PrimaryMessage, { readonly kind: Kind }>;

/**
 * Serves until the primary says stop, and ends the process. A worker exits at once when its primary
 * is gone, because the data directory has no owner then.
 */
export async function runWorker(settingsFor: SettingsFor, number: number): Promise<never> {
  // Terminals and service managers send these to every process; the primary decides.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => undefined);
  endWithPrimary();
  onMessage('pulse', () => void send({ kind: 'pulse' }));
  const serve = nextMessage('serve');
  const stop = nextMessage('stop');
  const reloads = new Reloads();
  await send({ kind: 'ready' });
  const order = await Promise.race([serve, stop]);
  if (order.kind === 'stop') return endProcess(exitCodes.stopped);
  const { ports, config } = order;
  let flush: (() => Promise<void>) | undefined;
  try {
    const settings = settingsFor({ config });
    const log = openStartLog(settings.process, { worker: number });
    ({ flush } = log);
    const { onFatal } = endWhenBroken(log);
    onMessage('reopen-log', () => log.reopen());
    const server = await createWorkerServer({
      ...settings.options,
      ...log.options,
      onFatal,
      ...byServiceOption('Port', (service) => ports[service]),
    });
    await send({
      kind: 'listening',
      ports: byService((service) => portOf(server, service)),
    });
    const change = settingsChanger(server, settings);
    reloads.serve((next) => change(settingsFor({ config: next })));
    await stop;
    await server.close();
  } catch (error) {
    await send({ kind: 'failed', message: messageOf(startFailure(error)) });
    return endProcess(exitCodes.failed, flush);
  }
  return endProcess(exitCodes.stopped, flush);
}

/** Ends the process before `node:cluster` calls `process.exit`, which may hang. */
function endWithPrimary(): void {
  const { worker } = cluster;
  worker?.once('disconnect', () => {
    worker.exitedAfterDisconnect = true;
    void endProcess(exitCodes.failed);
  });
}

/** Runs the reloads of the primary in order, including those that came before serving. */
class Reloads {
  readonly #serving = deferred<(config: Config) => Promise<void>>();
  #last: Promise<void> = Promise.resolve();

  constructor() {
    onMessage('reload', ({ config }) => (this.#last = this.#last.then(() => this.#run(config))));
  }

  serve(reload: (config: Config) => Promise<void>): void {
    this.#serving.resolve(reload);
  }

  async #run(config: Config): Promise<void> {
    try {
      const reload = await this.#serving.promise;
      await reload(config);
      await send({ kind: 'reloaded' });
    } catch (error) {
      await send({ kind: 'reloaded', failure: messageOf(error) });
    }
  }
}

/** Resolves with the first message of a kind. */
function nextMessage<Kind extends PrimaryMessage['kind']>(kind: Kind): Promise<MessageOf<Kind>> {
  return new Promise((resolve) => onMessage(kind, resolve));
}

/** Calls back for every later message of a kind. */
function onMessage<Kind extends PrimaryMessage['kind']>(
  kind: Kind,
  listener: (message: MessageOf<Kind>) => unknown,
): void {
  process.on('message', (message: unknown) => {
    if (isMessage(message, kind)) listener(message);
  });
}

/** Resolves when the message was sent. Errors of a closed channel are ignored. */
function send(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
