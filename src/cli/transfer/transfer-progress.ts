import { byteText } from '../../base/byte-text.js';
import { quietMs, rateOf, showProgress, type ProgressReport } from '../terminal/progress.js';
import { printable } from '../terminal/terminal.js';

/** Counts the bytes of a transfer, and shows them when it takes long. */
export class TransferProgress {
  #bytes = 0;
  #bytesThere = 0;
  readonly #report: ProgressReport;

  /** `total`: the bytes that are expected; undefined when it stays unknown. */
  constructor(stream: NodeJS.WriteStream, total: (() => number) | undefined) {
    const rate = rateOf(() => this.#bytes);
    this.#report = showProgress({
      stream,
      share: total && (() => (this.#bytesThere + this.#bytes) / Math.max(1, total())),
      facts: () => [byteText(this.#bytesThere + this.#bytes), `${byteText(rate())}/s`],
      quietMs,
    });
  }

  /** The bytes of this transfer, without those that an earlier one has left. */
  get bytes(): number {
    return this.#bytes;
  }

  get bytesThere(): number {
    return this.#bytesThere;
  }

  /** Counts bytes that an earlier transfer has left: they are done, and have taken no time. */
  skip(bytes: number): void {
    this.#bytesThere += bytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Prints a result to standard output, which may be the same terminal. */
  print(line: string): void {
    this.#report.clear();
    process.stdout.write(`${printable(line)}\n`);
  }

  /** Makes room for a line on standard error. */
  clear(): void {
    this.#report.clear();
  }

  stop(): void {
    this.#report.stop();
  }
}
