import {
  type ContentStore,
  type Extent,
  type ExtentReader,
  type ScrubStep,
  type SweepStep,
} from './content-store.js';
import { ContentUnreachableError } from './errors.js';

/**
 * Content that another machine keeps and that this one cannot read. Every call that needs bytes is
 * refused with `ContentUnreachableError`. `place`: where it is, as people read it.
 */
export function unreachableContent(place: string): ContentStore {
  return new UnreachableContent(place);
}

class UnreachableContent implements ContentStore {
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

  /** Nothing was stored, so nothing waits. */
  confirm(): void {
    return undefined;
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
    return Promise.reject(new ContentUnreachableError(this.#place));
  }
}
