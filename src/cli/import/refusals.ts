import { once } from 'node:events';
import type { WriteStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { messageOf } from '../terminal/failure.js';

export interface Refusal {
  readonly line: number;
  readonly code: string;
  readonly message: string;
  readonly partitionKey?: string;
  readonly rowKey?: string;
}

/** Refusals that are printed; further ones are only counted, and written to the errors file. */
const printedMax = 20;

/** Reports the rows that were not imported. */
export class Refusals {
  readonly #print: (line: string) => void;
  readonly #file: WriteStream | undefined;
  #fileError: string | undefined;
  #count: number;
  #printed = 0;

  /**
   * `file`: the errors file, open to append; `before`: the number of rows that an earlier run of
   * the same import refused.
   */
  constructor(options: {
    readonly print: (line: string) => void;
    readonly file: FileHandle | undefined;
    readonly before: number;
  }) {
    const { print, file, before } = options;
    this.#print = print;
    this.#count = before;
    this.#file = file?.createWriteStream();
    this.#file?.on('error', (error) => this.#lost(error));
  }

  get count(): number {
    return this.#count;
  }

  add(refusal: Refusal): void {
    this.#count++;
    if (this.#fileError === undefined) this.#file?.write(`${JSON.stringify(refusal)}\n`);
    this.#printed++;
    if (this.#printed <= printedMax) {
      this.#print(`line ${refusal.line}: ${refusal.code}: ${refusal.message}`);
    } else if (this.#printed === printedMax + 1) {
      this.#print(
        'More rows are refused; ' +
          (this.#file === undefined
            ? 'only their number is shown. --errors FILE keeps all of them.'
            : 'they are in the file of errors.'),
      );
    }
  }

  #lost(error: Error): void {
    if (this.#fileError !== undefined) return;
    this.#fileError = messageOf(error);
    this.#print(`Warning: refused rows are not written to the file of errors: ${this.#fileError}`);
  }

  /** Resolves when the file is complete, with the reason why it lacks rows, if so. */
  async close(): Promise<string | undefined> {
    if (this.#file !== undefined && !this.#file.closed) {
      const closed = once(this.#file, 'close').catch(() => undefined);
      this.#file.end();
      await closed;
    }
    return this.#fileError;
  }
}
