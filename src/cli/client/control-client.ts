import { request as httpRequest, type IncomingMessage } from 'node:http';
import { AwayFailure, codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';
import { answerBytes } from './answer-bytes.js';

/** Some work, such as taking a snapshot, is answered when it is done. */
const silenceMs = 300_000;

/** Why an answer has a form that this command does not know, and what to do. */
export const otherRelease = 'the server is of another release. Use the command of that release.';

interface Answered {
  readonly status: number;
  /** Undefined when it is no JSON. */
  readonly body: unknown;
}

/** The control API of a server on this machine. */
export class ControlClient {
  readonly #port: number;
  readonly #otherwise: string;

  /** `otherwise`: advice for the case that no server runs. */
  constructor(port: number, otherwise: string) {
    this.#port = port;
    this.#otherwise = otherwise;
  }

  /** Undefined: there is no such resource. Throws `UsageError` and `CommandFailure`. */
  async find<Found>(path: string): Promise<Found | undefined> {
    const reply = await this.#send('GET', path);
    if (reply.status === 404 && refusalIn(reply.body) !== undefined) return undefined;
    return answered(reply, this.#address) as Found;
  }

  /** Throws `UsageError` for what is refused, or `CommandFailure`. */
  async ask<Answer>(method: string, path: string, content?: unknown): Promise<Answer> {
    const reply = await this.#send(method, path, content);
    // The answer is of this release, or of one that answers in the same form.
    return answered(reply, this.#address) as Answer;
  }

  get #address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async #send(method: string, path: string, content?: unknown): Promise<Answered> {
    const address = this.#address;
    try {
      const response = await this.#answer(method, path, content);
      const text = (await answerBytes(response)).toString('utf8');
      return { status: response.statusCode ?? 0, body: jsonOf(text) };
    } catch (error) {
      if (codeOf(error) === 'ECONNREFUSED') {
        throw new CommandFailure(
          `Nothing listens at ${address}. Start the server with --control-port ${this.#port}, ` +
            `${this.#otherwise}.`,
          { cause: error },
        );
      }
      throw new CommandFailure(`The server at ${address} did not answer: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Not by `fetch`, which refuses ports of other protocols, such as 10080. */
  #answer(method: string, path: string, content: unknown): Promise<IncomingMessage> {
    const url = `${this.#address}/${path}`;
    const body = content === undefined ? undefined : JSON.stringify(content);
    // Node tells no length by itself for methods that have no body as a rule, such as DELETE.
    const headers = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const options = { method, headers, agent: false, timeout: silenceMs };
    return new Promise((resolve, reject) => {
      const request = httpRequest(url, options, resolve);
      request.on('timeout', () => request.destroy(new Error(`no answer in ${silenceMs} ms`)));
      request.on('error', reject);
      request.end(body);
    });
  }
}

/** Undefined for a text that is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Refused requests are wrong usage: nothing was done. */
function answered({ status, body }: Answered, address: string): unknown {
  const refusal = refusalIn(body);
  if (status < 300 && body !== undefined) return body;
  if (status < 300 || refusal === undefined) {
    throw new CommandFailure(
      `What listens at ${address} is not the control API of a server: it answered with ${status} ` +
        'and nothing that this API says. Give the port that the server was started with as ' +
        '--control-port.',
    );
  }
  if (status < 500) throw new UsageError(refusal);
  throw status === 503 ? new AwayFailure(refusal) : new CommandFailure(refusal);
}

/** The message of the control API about a refused request. */
function refusalIn(body: unknown): string | undefined {
  const hasError = typeof body === 'object' && body !== null && 'error' in body;
  return hasError && typeof body.error === 'string' ? body.error : undefined;
}
