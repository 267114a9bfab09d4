import { rename, rm, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { unreachable } from '../../base/invariant.js';
import { FileReadError, readRegularFile } from '../../base/regular-file.js';
import { systemRandomness } from '../../base/randomness.js';
import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';
import type { InputIdentity } from './input.js';
import type { SourcePosition } from './source-row.js';

/** The parameters that identify an import: only the same one may be resumed. */
export interface ImportIdentity {
  readonly input: InputIdentity;
  readonly endpoint: string;
  readonly table: string;
  /** All command-line options that affect the conversion of rows. */
  readonly mapping: Readonly<Record<string, unknown>>;
}

/** The progress of an import. All rows before `position` are written or refused. */
export interface ImportProgress {
  readonly position: SourcePosition;
  readonly refused: number;
}

const formatVersion = 1;
/** The file holds a few hundred bytes; one that is larger is not ours. */
const stateBytesMax = 1024 * 1024;

/** The file beside an input that lets a stopped import resume. */
export class ResumeState {
  readonly #path: string;
  readonly #identity: ImportIdentity;

  constructor(path: string, identity: ImportIdentity) {
    this.#path = path;
    this.#identity = identity;
  }

  /**
   * Where to resume; `other` when the file is about another input, table or mapping. Throws
   * `UsageError` when it is no state file: saving would overwrite it.
   */
  async load(): Promise<ImportProgress | 'none' | 'other'> {
    const text = await this.#read();
    if (text === undefined) return 'none';
    const state = parsedState(text);
    if (state === undefined) throw this.#foreign();
    if (!isDeepStrictEqual(state.identity, this.#identity)) return 'other';
    return state.progress;
  }

  async #read(): Promise<string | undefined> {
    try {
      return (await readRegularFile(this.#path, stateBytesMax)).toString('utf8');
    } catch (error) {
      if (!(error instanceof FileReadError)) throw error;
      switch (error.problem) {
        case 'absent':
          return undefined;
        case 'directory':
        case 'not-regular':
        case 'too-large':
          throw this.#foreign();
        case 'forbidden':
        case 'failed':
          throw new CommandFailure(`${error.message}.`, { cause: error });
        default:
          return unreachable(error.problem);
      }
    }
  }

  #foreign(): UsageError {
    return new UsageError(
      `${this.#path} is no note of an import, and it would be overwritten. ` +
        'Name another file with --state, or remove it.',
    );
  }

  /**
   * Replaces the file atomically, so that a crash leaves the old or the new one. The draft is
   * created exclusively, so that an existing file or link target is never written to.
   */
  async save(progress: ImportProgress): Promise<void> {
    const state = { version: formatVersion, identity: this.#identity, progress };
    const draft = `${this.#path}.${systemRandomness.uuid()}.tmp`;
    try {
      await writeFile(draft, `${JSON.stringify(state, undefined, 2)}\n`, { flag: 'wx' });
      await rename(draft, this.#path);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') await rm(draft, { force: true });
      throw error;
    }
  }

  /** Throws `CommandFailure`. */
  async remove(): Promise<void> {
    try {
      await rm(this.#path, { force: true });
    } catch (error) {
      throw new CommandFailure(
        `${this.#path} cannot be removed: ${messageOf(error)}. Remove it, or give --restart: the ` +
          'next import of this file would go on after the row that it names.',
      );
    }
  }
}

interface State {
  readonly identity: unknown;
  readonly progress: ImportProgress;
}

function parsedState(text: string): State | undefined {
  try {
    const state: { version?: unknown; identity?: unknown; progress?: Partial<ImportProgress> } =
      JSON.parse(text);
    if (state.identity === undefined) return undefined;
    const { position, refused } = state.progress ?? {};
    if (state.version !== formatVersion || position === undefined || refused === undefined) {
      return undefined;
    }
    const numbers = [position.offset, position.line, position.row, refused];
    if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return undefined;
    return { identity: state.identity, progress: { position, refused } };
  } catch {
    return undefined;
  }
}
