import {
  type ContentStore,
  type Extent,
  type ExtentReader,
  type ScrubStep,
  type SweepStep,
} from '../content-store.js';
import { ContentElsewhereError } from '../errors.js';

/**
 * Content that another machine keeps and that this one cannot read. Every call that needs bytes is
 * refused with `ContentElsewhereError`. `place`: where it is, as people read it.
 */
export function contentElsewhere(place: string): ContentStore {
  return new ContentElsewhere(place);
}

class ContentElsewhere implements ContentStore {
  readonly #place: string;

  constructor(place: string) {
    this.#place = place;
  }

  put(): Promise<Extent> {
    return this.#refuse();
  }

  read(): Promise<ExtentReader> {
    return this.#refuse();
  }

  free(): Promise<void> {
    return this.#refuse();
  }

  link(): Promise<Extent> {
    return this.#refuse();
  }

  retain(): () => void {
    return () => undefined;
  }

  suspectAll(): Promise<void> {
    return this.#refuse();
  }

  /** The machine that keeps the content sweeps it. */
  sweepOrphans(): Promise<SweepStep> {
    return Promise.resolve({ looked: 0, deleted: 0, more: false });
  }

  async *scrub(): AsyncGenerator<ScrubStep, void, void> {
    yield await this.#refuse();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #refuse(): Promise<never> {
    return Promise.reject(new ContentElsewhereError(this.#place));
  }
}
