import type { Acknowledgements } from './acknowledgements.js';
import type { Link } from './link.js';
import type { LinkSource } from './link-source.js';
import type { Primary } from './primary.js';

/**
 * Opens connections for reads. Each is checked for lost commits, so that a server which only reads
 * notices them too.
 */
export class WatchedPrimary implements LinkSource {
  readonly #primary: Primary;
  readonly #acknowledgements: Acknowledgements;

  constructor(primary: Primary, acknowledgements: Acknowledgements) {
    this.#primary = primary;
    this.#acknowledgements = acknowledgements;
  }

  get retries(): LinkSource['retries'] {
    return this.#primary.retries;
  }

  async connect(limitMs: number, pipelines?: boolean): Promise<Link> {
    const link = await this.#primary.connect(limitMs, pipelines);
    try {
      await this.#acknowledgements.reportLoss(link);
      return link;
    } catch (error) {
      link.cut();
      throw error;
    }
  }
}
