import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';

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
  #fileError: Error | undefined;
  #count: number;
  #printed = 0;

  /** `before`: the number of rows that an earlier run of the same import refused. */
  constructor(options: {
    readonly print: (line: string) => void;
    readonly path: string | undefined;
    readonly append: boolean;
    readonly before: number;
  }) {
    const { print, path, append, before } = options;
    this.#print = print;
    this.#count = before;
    if (path === undefined) return;
    this.#file = createWriteStream(path, { flags: append ? 'a' : 'w' });
    this.#file.on('error', (error) => (this.#fileError = error));
  }

  get count(): number {
    return this.#count;
  }

  add(refusal: Refusal): void {
    this.#count++;
    this.#file?.write(`${JSON.stringify(refusal)}\n`);
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

  /** Resolves when the file is complete. Throws when it could not be written. */
  async close(): Promise<void> {
    if (this.#file !== undefined && this.#fileError === undefined) {
      this.#file.end();
      await once(this.#file, 'close');
    }
    if (this.#fileError !== undefined) throw this.#fileError;
  }
}
