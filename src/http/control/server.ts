import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isNestedBeyond } from '../../base/json-depth.js';
import { messageOf } from '../../base/thrown.js';
import { InvalidSettingError } from '../../base/invalid-setting-error.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { AbortedError, readBody } from '../pipeline/body.js';
import { SampledWarning } from '../pipeline/sampled-log.js';
import type { Logger } from '../exchange/logger.js';
import { ignoreLostClient } from '../exchange/lost-client.js';
import { foreignness } from './guard.js';
import { ControlError, sendReply, type ControlReply } from './reply.js';
import { answerControl, type ControlTarget } from './routes.js';

/** The API has no credentials, so it listens on the loopback address only. */
export const controlHost = '127.0.0.1';

const bodyBytesMax = 1024 * 1024;
/** The nesting limit of JSON: deeper than any rule, and safe for recursive checks. */
const depthMax = 64;
/**
 * Each may bring a body of `bodyBytesMax`. A silent one ends with the timeouts below, so no client
 * keeps others out for long.
 */
const controlConnectionsMax = 100;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;

export interface ControlServerOptions {
  readonly target: ControlTarget;
  readonly logger: Logger;
  /** The answer to an error of the target that its message explains; undefined: a defect. */
  readonly failureOf: (error: unknown) => ControlError | undefined;
}

/** The control API: JSON over HTTP, beside the storage services and without their records. */
export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #server: Server;

  constructor(options: ControlServerOptions) {
    this.#options = options;
    this.#server = createServer(
      { headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.on('connection', (socket) => socket.on('error', ignoreLostClient));
    this.#server.maxConnections = controlConnectionsMax;
    const refused = new SampledWarning(
      options.logger,
      'a connection of the control API was closed: there are too many',
    );
    this.#server.on('drop', () => refused.give({ connectionsMax: controlConnectionsMax }));
  }

  /** Resolves with the port; 0 takes a free one. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: controlHost, port }, () => {
        this.#server.off('error', reject);
        // Too few file descriptors for a connection, as an example: the next one may be accepted.
        this.#server.on('error', (error) =>
          this.#options.logger.error('the listening socket of the control API failed', { error }),
        );
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', ignoreLostClient);
    try {
      sendReply(response, await this.#answer(request));
    } catch (error) {
      const reply = this.#errorReply(error);
      if (reply !== undefined && !response.headersSent) sendReply(response, reply);
    }
  }

  async #answer(request: IncomingMessage): Promise<ControlReply> {
    const foreign = foreignness(request);
    if (foreign !== undefined) throw new ControlError(403, foreign, { Connection: 'close' });
    const { method = '', url = '/' } = request;
    const segments = segmentsOf(url);
    const bytes = await readBody(request, bodyBytesMax);
    const reply = await answerControl(this.#options.target, {
      method,
      segments,
      body: jsonOf(bytes),
    });
    const isLook = method === 'GET' || reply.isLook === true;
    if (!isLook) this.#options.logger.info('the server was controlled', { method, url });
    return reply;
  }

  #errorReply(error: unknown): ControlReply | undefined {
    if (error instanceof AbortedError) return undefined;
    if (error instanceof StorageError) {
      const tooLarge = `The body may have at most ${bodyBytesMax} bytes.`;
      return { status: 413, body: { error: tooLarge }, headers: { Connection: 'close' } };
    }
    const explained = this.#explained(error);
    if (explained === undefined || explained.status >= 500) {
      this.#options.logger.error('a control request failed unexpectedly', { error });
    }
    if (explained === undefined) {
      return { status: 500, body: { error: 'The server failed; its log says why.' } };
    }
    const { status, message, headers } = explained;
    return { status, body: { error: message }, headers };
  }

  #explained(error: unknown): ControlError | undefined {
    if (error instanceof ControlError) return error;
    if (error instanceof InvalidSettingError) return new ControlError(400, error.message);
    return this.#options.failureOf(error);
  }
}

function segmentsOf(url: string): readonly string[] {
  const path = url.split('?', 1)[0] ?? '';
  try {
    return path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    throw new ControlError(400, 'The path is not percent-encoded UTF-8.');
  }
}

function jsonOf(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (isNestedBeyond(bytes, depthMax)) {
    throw new ControlError(400, `The body may be nested ${depthMax} levels deep at most.`);
  }
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new ControlError(400, `The body must be JSON: ${messageOf(error)}.`);
  }
}
