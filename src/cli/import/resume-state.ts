import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { codeOf, CommandFailure, messageOf } from '../failure.js';
import type { InputIdentity } from './input.js';
import type { SourcePosition } from './source-row.js';

/** What an import is: only the same one may be continued. */
export interface ImportIdentity {
  readonly input: InputIdentity;
  readonly endpoint: string;
  readonly table: string;
  /** Everything on the command line that decides what rows become. */
  readonly mapping: Readonly<Record<string, unknown>>;
}

/** How far an import has come. All rows before `position` are written or refused. */
export interface ImportProgress {
  readonly position: SourcePosition;
  readonly refused: number;
}

const formatVersion = 1;

/** The small file beside an input that lets a stopped import continue. */
export class ResumeState {
  readonly #path: string;
  readonly #identity: ImportIdentity;

  constructor(path: string, identity: ImportIdentity) {
    this.#path = path;
    this.#identity = identity;
  }

  /** Where to continue; `other` when the file is about another input, table or mapping. */
  async load(): Promise<ImportProgress | 'none' | 'other'> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return 'none';
      throw new CommandFailure(`${this.#path} cannot be read: ${messageOf(error)}`);
    }
    const state = parsedState(text);
    if (state === undefined || !isDeepStrictEqual(state.identity, this.#identity)) return 'other';
    return state.progress;
  }

  /** Replaces the file as a whole, so that a crash leaves the old one or the new one. */
  async save(progress: ImportProgress): Promise<void> {
    const state = { version: formatVersion, identity: this.#identity, progress };
    const draft = `${this.#path}.tmp`;
    await writeFile(draft, `${JSON.stringify(state, undefined, 2)}\n`);
    await rename(draft, this.#path);
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
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
