import type { TableClient } from '@azure/data-tables';

/**
 * Lets the service carry a request out and then loses its answer, as a connection does that is reset
 * at the wrong moment. The policy is inside of the client's own retries, which therefore send the
 * request a second time.
 */
export class LostAnswers {
  #count = 0;
  #matches: (method: string, url: string) => boolean = () => false;
  /** Requests that reached the service, as `METHOD`. */
  readonly sent: string[] = [];

  /** The answers to the next `count` requests of these methods are lost. */
  lose(count: number, ...methods: readonly string[]): void {
    this.#count = count;
    this.#matches = (method) => methods.includes(method);
  }

  install(client: TableClient): void {
    client.pipeline.addPolicy(
      {
        name: 'lost-answers',
        sendRequest: async (request, next) => {
          this.sent.push(request.method);
          const response = await next(request);
          if (this.#count === 0 || !this.#matches(request.method, request.url)) return response;
          this.#count -= 1;
          const error = new Error('socket hang up') as Error & { code: string };
          error.name = 'RestError';
          error.code = 'ECONNRESET';
          throw error;
        },
      },
      { afterPhase: 'Retry' },
    );
  }
}
