import type { ServerResponse } from 'node:http';
import { atEndOfTurn } from '../../base/async/turns.js';

/** Answers that wait for each other, at most: the last does not hold up the first for long. */
const waitingMax = 32;

/**
 * Sends answers that become ready in the same turn of the event loop one right after the other.
 *
 * Every write into a socket may wake the process at its other end, and a wake-up costs as much as
 * the rest of a small request. Written together, the answers of many connections share a few. They
 * go before work that takes a turn of its own.
 */
export class ResponseBatcher {
  #responses: ServerResponse[] = [];
  #bodies: string[] = [];

  /** Ends a response whose head has been written; `body` is Latin-1. */
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
