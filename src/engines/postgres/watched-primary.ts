import type { Acknowledgements } from './acknowledgements.js';
import type { Link } from './link.js';
import type { LinkSource } from './link-source.js';
import type { Primary } from './primary.js';

/** Connections that read. Whoever only reads has to notice as well that commits are lost. */
export class WatchedPrimary implements LinkSource {
  readonly #primary: Primary;
  readonly #acknowledgements: Acknowledgements;

  constructor(primary: Primary, acknowledgements: Acknowledgements) {
    this.#primary = primary;
    this.#acknowledgements = acknowledgements;
  }

  pause(failures: number): Promise<void> {
    return this.#primary.pause(failures);
  }

  async connect(limitMs: number, pipelines?: boolean): Promise<Link> {
    const link = await this.#primary.connect(limitMs, pipelines);
    try {
      await this.#acknowledgements.look(link);
      return link;
    } catch (error) {
      link.cut();
      throw error;
    }
  }
}
