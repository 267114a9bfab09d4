import type { ServerResponse } from 'node:http';
import { atEndOfTurn } from '../../base/async/turns.js';

/** The most answers in one batch: the last must not delay the first for long. */
const waitingMax = 32;

/**
 * Sends answers that become ready in the same turn of the event loop together.
 *
 * Every write to a socket may wake up the peer process, and a wake-up costs as much as the rest of
 * a small request. Answers that are written together share a few wake-ups. They are sent before
 * work that takes its own turn.
 */
export class ResponseBatcher {
  #responses: ServerResponse[] = [];
  #bodies: string[] = [];

  /** Ends a response whose header was written; `body` is Latin-1. */
  end(response: ServerResponse, body: string): void {
    this.#responses.push(response);
    this.#bodies.push(body);
    if (this.#responses.length === 1) atEndOfTurn(this.#flush);
    else if (this.#responses.length === waitingMax) this.#flush();
  }

  readonly #flush = (): void => {
    const [responses, bodies] = [this.#responses, this.#bodies];
    this.#responses = [];
    this.#bodies = [];
    for (let at = 0; at < responses.length; at += 1) responses[at]?.end(bodies[at], 'latin1');
  };
}
