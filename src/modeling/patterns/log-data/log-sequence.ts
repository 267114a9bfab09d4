import { ModelError } from '../../rows/model-error.js';
import type { LogBlobs } from './log-blobs.js';
import { hourPrefix, logBlobName, parseLogBlobName, sequenceMax } from './log-blob-name.js';
import { batchOf } from './log-metadata.js';

/** Names taken by others that are skipped before giving up. */
const takenMax = 1000;

/**
 * Assigns the numbers of the blobs of a source and hour among several writers: the one that creates
 * a name owns it, the others try the next number.
 */
export class LogSequence {
  readonly #blobs: LogBlobs;
  readonly #source: string;
  #hour = -1n;
  /** The number to try next in that hour. */
  #next = 1;

  constructor(blobs: LogBlobs, source: string) {
    this.#blobs = blobs;
    this.#source = source;
  }

  /**
   * Creates a blob under the next free name of an hour, and returns the name. The first call for an
   * hour lists its blobs, with one request per 5,000. `create` sends one request; a name that is
   * taken costs one more, to see whether an earlier attempt of `batch` took it.
   */
  async claim(
    hour: bigint,
    batch: string,
    create: (name: string) => Promise<'created' | 'exists'>,
  ): Promise<string> {
    if (this.#hour !== hour) {
      this.#next = (await this.#highest(hour)) + 1;
      this.#hour = hour;
    }
    for (let taken = 0; taken < takenMax && this.#next <= sequenceMax; taken++) {
      const name = logBlobName({ source: this.#source, hour, sequence: this.#next });
      const isOurs = (await create(name)) === 'created' || (await this.#isOf(name, batch));
      this.#next += 1;
      if (isOurs) return name;
    }
    throw new ModelError(
      `no free name for a log blob under ${hourPrefix(this.#source, hour)} up to ${this.#next - 1}`,
    );
  }

  async #isOf(name: string, batch: string): Promise<boolean> {
    const found = await this.#blobs.find(name);
    return found !== undefined && batchOf(found.metadata) === batch;
  }

  /** The highest number of an hour; 0 when it has no blob. */
  async #highest(hour: bigint): Promise<number> {
    let highest = 0;
    let cursor: string | undefined;
    do {
      const page = await this.#blobs.list(`${hourPrefix(this.#source, hour)}/`, cursor);
      for (const { name } of page.blobs) {
        highest = Math.max(highest, parseLogBlobName(name)?.sequence ?? 0);
      }
      ({ cursor } = page);
    } while (cursor !== undefined);
    return highest;
  }
}
