import { resolve } from 'node:path';
import type { SeedBlob, SeedContainer } from '../../app/index.js';
import { byteText } from '../../base/byte-text.js';
import { openInputFile } from '../import/input.js';
import { CommandFailure, messageOf } from '../terminal/failure.js';

/** A container of a seed file. */
export type ContainerText = Omit<SeedContainer, 'blobs'> & {
  readonly blobs?: Readonly<Record<string, BlobText>>;
};

type BlobText = string | null | (SeedBlob & { readonly file?: string });

/** The longest content that one Put Blob can store. */
const seedBlobBytesMax = 5_000 * 1024 * 1024;
const pieceBytes = 256 * 1024;

/** Blobs of a seed whose content is in files. */
export class SeedBlobFiles {
  readonly #folder: string;
  bytesTotal = 0;
  bytesRead = 0;

  /** `folder`: relative paths start there. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws `CommandFailure` when a file cannot be read, or is larger than one blob of a seed. */
  async container({ blobs = {}, ...rest }: ContainerText): Promise<SeedContainer> {
    const read: [string, string | null | SeedBlob][] = [];
    for (const [name, blob] of Object.entries(blobs)) {
      const hasFile = typeof blob === 'object' && blob?.file !== undefined;
      read.push([name, hasFile ? await this.#blob(blob) : blob]);
    }
    return { ...rest, blobs: Object.fromEntries(read) };
  }

  async #blob({ file = '', ...rest }: SeedBlob & { readonly file?: string }): Promise<SeedBlob> {
    const path = resolve(this.#folder, file);
    const { handle, stats } = await openInputFile(path);
    await handle.close();
    const bytes = Number(stats.size);
    if (bytes > seedBlobBytesMax) {
      throw new CommandFailure(
        `${path} has ${byteText(bytes)}; a blob of a seed has up to ${byteText(seedBlobBytesMax)}. ` +
          'Use tabularium blob put for it.',
      );
    }
    this.bytesTotal += bytes;
    return { ...rest, stream: () => this.#bytes(path) };
  }

  async *#bytes(path: string): AsyncGenerator<Buffer> {
    const { handle } = await openInputFile(path);
    try {
      // A file that grows while it is read is cut.
      const end = seedBlobBytesMax - 1;
      const pieces = handle.createReadStream({ highWaterMark: pieceBytes, end });
      for await (const piece of pieces as AsyncIterable<Buffer>) {
        this.bytesRead += piece.length;
        yield piece;
      }
    } catch (error) {
      throw new CommandFailure(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
    }
  }
}
