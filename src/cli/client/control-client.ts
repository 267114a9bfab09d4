import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

/** The control API of a server on this machine. */
export class ControlClient {
  readonly #port: number;
  readonly #otherwise: string;

  /** `otherwise`: what to do where no server runs. */
  constructor(port: number, otherwise: string) {
    this.#port = port;
    this.#otherwise = otherwise;
  }

  /** Undefined: there is no such thing. Throws `UsageError` and `CommandFailure`. */
  async find<Found>(path: string): Promise<Found | undefined> {
    const { status, body } = await this.#send('GET', path);
    return status === 404 ? undefined : (answered(status, body) as Found);
  }

  /** Throws `UsageError` for what is refused, or `CommandFailure`. */
  async ask<Answer>(method: string, path: string, content?: unknown): Promise<Answer> {
    const { status, body } = await this.#send(method, path, content);
    // The answer is of this release, or of one that answers in the same form.
    return answered(status, body) as Answer;
  }

  async #send(
    method: string,
    path: string,
    content?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const address = `http://127.0.0.1:${this.#port}`;
    try {
      const response = await fetch(`${address}/${path}`, {
        method,
        ...(content !== undefined && { body: JSON.stringify(content) }),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      if (codeOf(cause) === 'ECONNREFUSED') {
        throw new CommandFailure(
          `Nothing listens at ${address}. Start the server with --control-port ${this.#port}, ` +
            `${this.#otherwise}.`,
          { cause: error },
        );
      }
      throw new CommandFailure(`The server at ${address} did not answer: ${messageOf(cause)}`, {
        cause: error,
      });
    }
  }
}

/** Refused requests are wrong usage: nothing was done. */
function answered(status: number, body: unknown): unknown {
  if (status < 300) return body;
  const message =
    typeof body === 'object' && body !== null && 'error' in body
      ? String(body.error)
      : `The server answered with ${status}.`;
  throw status < 500 ? new UsageError(message) : new CommandFailure(message);
}
