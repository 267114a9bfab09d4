import { quietMs, rateOf, showProgress } from './terminal/progress.js';
import type { ProgressReport, ProgressStream } from './terminal/progress.js';
import { counted, grouped } from './terminal/terminal.js';

/** Shows how many files of a journal were read. Their total is known only when all were read. */
export class JournalProgress {
  readonly #stream: ProgressStream;
  readonly #begin: () => void;
  #files = 0;
  #report: ProgressReport | undefined;

  /** `begin`: called before the first of them. */
  constructor(stream: ProgressStream, begin: () => void) {
    this.#stream = stream;
    this.#begin = begin;
  }

  read(files: number): void {
    this.#files = files;
    this.#report ??= this.#shown();
  }

  stop(): void {
    this.#report?.stop();
  }

  #shown(): ProgressReport {
    this.#begin();
    const rate = rateOf(() => this.#files);
    return showProgress({
      stream: this.#stream,
      share: undefined,
      facts: () => [`${counted(this.#files, 'file')} of the journal`, `${grouped(rate())}/s`],
      quietMs,
    });
  }
}
