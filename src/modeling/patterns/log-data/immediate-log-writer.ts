import type { Bytes } from '../../../base/bytes.js';
import type { Randomness } from '../../../base/randomness.js';
import { ModelError } from '../../rows/model-error.js';
import type { LogLine } from './log-batch.js';
import type { LogBlobs } from './log-blobs.js';
import { hourOf } from './log-blob-name.js';
import { metadataOf, type LogSpan } from './log-metadata.js';
import { LogSequence } from './log-sequence.js';
import type { LineWriter } from './line-writer.js';

/** The service's limit for an append blob. */
const blocksMax = 50_000;
/** A larger blob is closed, and another one begun. */
const blobBytesMax = 64 * 1_048_576;
const appendBytesMax = 4 * 1_048_576;
/** Blobs tried for one append before it fails. */
const blobsTriedMax = 3;

interface Waiting extends LogLine {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface OpenBlob {
  readonly name: string;
  readonly hour: bigint;
  readonly batch: string;
  blocks: number;
  bytes: number;
  span: Required<LogSpan>;
}

interface Parts {
  readonly blobs: LogBlobs;
  readonly source: string;
  readonly randomness: Randomness;
}

/**
 * Appends each line to an append blob of its own before `write` resolves. Lines that arrive during
 * an append are sent together with the next one. The blob has no other writer, so an append states
 * the expected length, and one that the client repeats is not applied twice. After a failure the
 * blob is left and a new one is created, because the length of the old one is unknown.
 */
export class ImmediateLogWriter implements LineWriter {
  readonly #parts: Parts;
  readonly #sequence: LogSequence;
  #waiting: Waiting[] = [];
  #blob: OpenBlob | undefined;
  /** The pending writes of lines that are not stored yet. */
  readonly #writes = new Set<Promise<void>>();
  #isRunning = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sequence = new LogSequence(parts.blobs, parts.source);
  }

  write(line: LogLine): Promise<void> {
    const write = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ ...line, resolve, reject });
    });
    this.#writes.add(write);
    const forget = (): void => void this.#writes.delete(write);
    void write.then(forget, forget);
    if (!this.#isRunning) void this.#run();
    return write;
  }

  async flush(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#writes);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Also writes the time of the last record into the metadata of the blob. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await this.#closeBlob();
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Groups lines that are written in the same turn.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      try {
        await this.#append(group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        this.#blob = undefined;
        for (const { reject } of group) reject(error);
      }
    }
    this.#isRunning = false;
  }

  /** The first lines that one append can take: of one hour, within the size limit. */
  #takeGroup(): readonly Waiting[] {
    const [head] = this.#waiting;
    const hour = hourOf(head?.ticks ?? 0n);
    let bytes = 0;
    let count = 0;
    for (const line of this.#waiting) {
      bytes += line.bytes.length;
      if (hourOf(line.ticks) !== hour || bytes > appendBytesMax) break;
      count += 1;
    }
    const group = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return group;
  }

  async #append(group: readonly LogLine[]): Promise<void> {
    const ticks = group.map((line) => line.ticks);
    const [first, last] = [least(ticks), greatest(ticks)];
    const body: Bytes = Buffer.concat(group.map(({ bytes }) => bytes));
    let blob = await this.#blobFor(hourOf(first), first);
    for (let attempt = 1; (await this.#appendTo(blob, body)) === 'elsewhere'; attempt += 1) {
      // Somebody else has written to the blob.
      this.#blob = undefined;
      if (attempt === blobsTriedMax) {
        throw new ModelError(
          `${attempt} log blobs one after the other were changed by somebody else, the last of ` +
            `them ${blob.name}: the records were not written`,
        );
      }
      blob = await this.#blobFor(hourOf(first), first);
    }
    blob.bytes += body.length;
    blob.blocks += 1;
    blob.span = {
      first: least([blob.span.first, first]),
      last: greatest([blob.span.last, last]),
      records: blob.span.records + group.length,
    };
  }

  /**
   * A refused position means that an earlier attempt of the client was applied, if the length fits.
   */
  async #appendTo({ name, bytes }: OpenBlob, body: Bytes): Promise<'appended' | 'elsewhere'> {
    const { blobs } = this.#parts;
    if ((await blobs.append(name, body, bytes)) === 'appended') return 'appended';
    const found = await blobs.find(name);
    return found?.bytes === bytes + body.length ? 'appended' : 'elsewhere';
  }

  async #blobFor(hour: bigint, first: bigint): Promise<OpenBlob> {
    const open = this.#blob;
    const hasRoom = open !== undefined && open.blocks < blocksMax && open.bytes < blobBytesMax;
    if (hasRoom && open.hour === hour) return open;
    await this.#closeBlob();
    const batch = this.#parts.randomness.uuid();
    const name = await this.#sequence.claim(hour, batch, (name) =>
      this.#parts.blobs.create(name, metadataOf({ first }, batch)),
    );
    const span = { first, last: first, records: 0 };
    this.#blob = { name, hour, batch, blocks: 0, bytes: 0, span };
    return this.#blob;
  }

  async #closeBlob(): Promise<void> {
    const blob = this.#blob;
    this.#blob = undefined;
    if (blob === undefined) return;
    await this.#parts.blobs.setMetadata(blob.name, metadataOf(blob.span, blob.batch));
  }
}

function least(ticks: readonly bigint[]): bigint {
  return ticks.reduce((low, each) => (each < low ? each : low));
}

function greatest(ticks: readonly bigint[]): bigint {
  return ticks.reduce((high, each) => (each > high ? each : high));
}
