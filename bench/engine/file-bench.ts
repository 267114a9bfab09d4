import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { closedLoop, type LoopResult } from './closed-loop.js';
import { callersOf, type EngineKind, type EnginePlan } from './kinds.js';

const fileBytes = 8 * 1024 * 1024;
/** The maximum size of a row in a group, and the minimum size of a write. */
const rowBytes = 1024;
const blockBytes = 4096;

/**
 * A file as a journal writes it, and nothing else: the most that commits could reach on this disk.
 * It was filled with zeros and is written over, one group after the other, each synced by its
 * write.
 */
export class FileBench {
  readonly #file: FileHandle;
  readonly #plan: EnginePlan;
  #at = 0;

  private constructor(file: FileHandle, plan: EnginePlan) {
    this.#file = file;
    this.#plan = plan;
  }

  static async open(directory: string, plan: EnginePlan): Promise<FileBench> {
    const path = join(directory, 'file');
    const zeros = await open(path, 'wx');
    try {
      await zeros.writeFile(Buffer.alloc(fileBytes));
      await zeros.sync();
    } finally {
      await zeros.close();
    }
    return new FileBench(await open(path, constants.O_WRONLY | constants.O_DSYNC), plan);
  }

  /** A group has a row of each caller. */
  measure(kind: EngineKind): Promise<LoopResult> {
    const rows = callersOf(kind, this.#plan.callers);
    const bytes = Math.ceil((rows * rowBytes) / blockBytes) * blockBytes;
    const group = Buffer.alloc(bytes, 'a group of rows ');
    const call = async (): Promise<number> => {
      if (this.#at + bytes > fileBytes) this.#at = 0;
      await this.#file.write(group, 0, bytes, this.#at);
      this.#at += bytes;
      return rows;
    };
    return closedLoop(call, { callers: 1, durationMs: this.#plan.seconds * 1000 });
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
