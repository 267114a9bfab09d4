import type { Bytes } from '../../base/bytes.js';
import type { Randomness } from '../../base/randomness.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { appendString, decodeTuple, stringAt } from '../../kv/tuple.js';
import type { OperationClass } from '../../model/analytics/operation-name.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { blobKind } from '../blobs/keys.js';
import type { BlobService } from '../blobs/blob-service.js';
import {
  containerKind,
  type ContainerDraft,
  type ContainerRecord,
} from '../blobs/container-record.js';
import type { BlobAddress } from '../blobs/types.js';
import { Containers } from '../containers/containers.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import { overtaken, untilCommitted } from '../containers/until-committed.js';
import { logContainer } from './log-name.js';
import { mergedMetadata, type Appended, type LogMetadata, type LogSink } from './log-sink.js';

/** The lines of a log are one text. */
const contentType = 'text/plain';

const blockIdBytes = 16;
const pieceBytes = 64 * 1024;

/** Attempts to append to a log against other processes that append to it. */
const attemptsMax = 100;

/** Keys that one step of deletion passes over. */
const passedMax = 10_000;

export interface BlobLogsOptions {
  readonly store: Store;
  readonly randomness: Randomness;
  readonly blobs: BlobService;
}

/** A log as it is before lines are appended. */
interface LogBlobState {
  readonly blockIds: readonly Bytes[];
  readonly bytes: number;
  readonly modifiedMicros: number;
  readonly metadata: LogMetadata | undefined;
}

/**
 * Logs as block blobs of `$logs` (blob-service §21.2). Lines are appended as a block: the block is
 * put, and then a list of the former blocks and the new one is committed, on the condition that the
 * blob has not changed since it was read.
 */
export class BlobLogs implements LogSink {
  readonly #options: BlobLogsOptions;
  readonly #containers: Containers<ContainerRecord, ContainerDraft>;

  constructor(options: BlobLogsOptions) {
    this.#options = options;
    this.#containers = new Containers(options.store, containerKind);
  }

  get #blobs(): BlobService {
    return this.#options.blobs;
  }

  async open(account: string): Promise<void> {
    // Made without the blob service, which refuses to create this container.
    await this.#containers.create(account, logContainer, (id) => ({
      id,
      name: logContainer,
      metadata: [],
      publicAccess: 'none',
      identifiers: [],
      lease: undefined,
      isImmutable: false,
      modifiedMicros: 'commit',
    }));
  }

  async append(
    account: string,
    blob: string,
    pieces: readonly Buffer[],
    metadata: LogMetadata,
  ): Promise<Appended> {
    const address = { account, container: logContainer, blob };
    return untilCommitted(attemptsMax, async () => {
      try {
        return await this.#appendOnce(address, pieces, metadata);
      } catch (error) {
        if (hasCode(error, ['ContainerNotFound'])) await this.open(account);
        else if (!hasCode(error, conflicts)) throw error;
        return overtaken;
      }
    });
  }

  async deleteRange(
    account: string,
    { start, end }: { readonly start: string; readonly end: string },
    entriesMax: number,
  ): Promise<Reclaimed> {
    const { names, more } = await this.#namesOf(account, { start, end }, entriesMax);
    for (const blob of names) {
      const address = { account, container: logContainer, blob };
      try {
        await this.#blobs.deleteBlob(address, { snapshots: 'include' });
      } catch (error) {
        if (!hasCode(error, ['BlobNotFound', 'ContainerNotFound'])) throw error;
      }
    }
    return { deleted: names.length, more };
  }

  async #appendOnce(
    address: BlobAddress,
    pieces: readonly Buffer[],
    metadata: LogMetadata,
  ): Promise<Appended> {
    const present = await this.#read(address);
    const known = present?.metadata;
    if (known !== undefined && known.version !== metadata.version) {
      return { kind: 'other-version' };
    }
    const id = this.#options.randomness.bytes(blockIdBytes);
    await this.#blobs.putBlock(address, { id }, { body: bodyOf(pieces) });
    const committed = present?.blockIds ?? [];
    const merged = known === undefined ? metadata : mergedMetadata(known, metadata);
    await this.#blobs.putBlockList(
      address,
      {
        blocks: [
          ...committed.map((each) => ({ source: 'committed', id: each }) as const),
          { source: 'uncommitted', id },
        ],
        headers: { contentType },
        metadata: encodeMetadata(merged),
        tags: [],
      },
      {
        conditions:
          present === undefined ? { ifNoneMatch: 'any' } : { ifMatch: [present.modifiedMicros] },
      },
    );
    const added = pieces.reduce((sum, { length }) => sum + length, 0);
    return { kind: 'appended', bytes: (present?.bytes ?? 0) + added };
  }

  /** Undefined when there is no such log. */
  async #read(address: BlobAddress): Promise<LogBlobState | undefined> {
    try {
      const { blocks, bytes, modifiedMicros } = await this.#blobs.getBlockList(
        address,
        'committed',
      );
      if (modifiedMicros === undefined) return undefined;
      const { metadata } = await this.#blobs.getProperties(address);
      const blockIds = (blocks.committed ?? []).map(({ id }) => id);
      return { blockIds, bytes, modifiedMicros, metadata: decodeMetadata(metadata) };
    } catch (error) {
      if (hasCode(error, ['BlobNotFound'])) return undefined;
      throw error;
    }
  }

  /** The names of the first logs of a range. */
  async #namesOf(
    account: string,
    { start, end }: { readonly start: string; readonly end: string },
    namesMax: number,
  ): Promise<{ readonly names: readonly string[]; readonly more: boolean }> {
    const { store } = this.#options;
    const container = await this.#containers.prefixOf(account, logContainer);
    if (container === undefined) return { names: [], more: false };
    const names: string[] = [];
    let passed = 0;
    const { more } = await store.range(
      { start: appendString(container, start), end: appendString(container, end) },
      {
        limit: 1,
        bytesMax: 0,
        filter({ key }) {
          if (names.length >= namesMax || passed >= passedMax) return 'stop';
          passed += 1;
          const [kind] = decodeTuple(key, partitionPrefixLength(key));
          if (kind === blobKind.base) names.push(stringAt(key, container.length));
          return 'skip';
        },
      },
    );
    return { names, more };
  }
}

/**
 * The errors when another process appends to the same log: the log is read again and the append
 * repeated.
 */
const conflicts: readonly ErrorCode[] = [
  'ConditionNotMet',
  'BlobAlreadyExists',
  'InvalidBlockList',
];

function hasCode(error: unknown, codes: readonly ErrorCode[]): boolean {
  return error instanceof StorageError && codes.includes(error.code);
}

/** A complete body, in pieces as large as those that connections deliver. */
async function* bodyOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += pieceBytes) {
      yield await Promise.resolve(piece.subarray(at, at + pieceBytes));
    }
  }
}

/** The metadata of the blob (blob-service §21.2). */
function encodeMetadata({ types, startMicros, endMicros, version }: LogMetadata): Metadata {
  return [
    ['LogType', types.join(',')],
    ['StartTime', secondText(startMicros)],
    ['EndTime', secondText(endMicros)],
    ['LogVersion', version],
  ];
}

/** Undefined for other metadata than those of a log. */
function decodeMetadata(metadata: Metadata): LogMetadata | undefined {
  const values = new Map(metadata);
  const startMs = Date.parse(values.get('StartTime') ?? '');
  const endMs = Date.parse(values.get('EndTime') ?? '');
  if (Number.isNaN(startMs) || Number.isNaN(endMs)) return undefined;
  const types = (values.get('LogType') ?? '').split(',').filter(isOperationClass);
  const version = values.get('LogVersion') ?? '1.0';
  return { types, startMicros: startMs * 1000, endMicros: endMs * 1000, version };
}

function isOperationClass(text: string): text is OperationClass {
  return text === 'read' || text === 'write' || text === 'delete';
}

/** `2011-07-31T18:00:00Z`. */
function secondText(micros: number): string {
  return `${new Date(micros / 1000).toISOString().slice(0, 19)}Z`;
}
