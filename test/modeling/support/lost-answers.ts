import type { TableClient } from '@azure/data-tables';

/**
 * Loses the response of a request that the service has carried out, like a connection that is reset
 * at that moment. The policy is inside the client's own retries, which send the request again.
 */
export class LostAnswers {
  #count = 0;
  #matches: (method: string, url: string) => boolean = () => false;
  /** Requests that reached the service, as `METHOD`. */
  readonly sent: string[] = [];

  /** Loses the responses to the next `count` requests with these methods. */
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
