import type { Acknowledgements } from './acknowledgements.js';
import type { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import type { Primary } from './primary.js';

/**
 * Opens connections for reads. Each is checked for lost commits, so that a server which only reads
 * notices them too.
 */
export class WatchedPrimary implements ConnectionSource {
  readonly #primary: Primary;
  readonly #acknowledgements: Acknowledgements;

  constructor(primary: Primary, acknowledgements: Acknowledgements) {
    this.#primary = primary;
    this.#acknowledgements = acknowledgements;
  }

  get retries(): ConnectionSource['retries'] {
    return this.#primary.retries;
  }

  async connect(limitMs: number, pipelines?: boolean): Promise<Connection> {
    const connection = await this.#primary.connect(limitMs, pipelines);
    const check = () => this.#acknowledgements.reportLoss(connection);
    await connection.prepare(check, this.#primary.closing);
    return connection;
  }
}
