import assert from 'node:assert/strict';
import { requireExtra } from './extras.js';

// The part of the legacy client `azure-storage` that tests use. The last argument is always a
// callback with an error or null, then the result.

type Method = (...args: readonly unknown[]) => void;

type TableMethod =
  | 'createTable'
  | 'createTableIfNotExists'
  | 'deleteEntity'
  | 'deleteTableIfExists'
  | 'doesTableExist'
  | 'executeBatch'
  | 'insertEntity'
  | 'insertOrMergeEntity'
  | 'insertOrReplaceEntity'
  | 'listTablesSegmentedWithPrefix'
  | 'mergeEntity'
  | 'queryEntities'
  | 'replaceEntity'
  | 'retrieveEntity';

type QueueMethod =
  | 'clearMessages'
  | 'createMessage'
  | 'createQueue'
  | 'createQueueIfNotExists'
  | 'deleteMessage'
  | 'deleteQueue'
  | 'deleteQueueIfExists'
  | 'doesQueueExist'
  | 'getMessages'
  | 'getQueueAcl'
  | 'getQueueMetadata'
  | 'getServiceProperties'
  | 'listQueuesSegmentedWithPrefix'
  | 'peekMessages'
  | 'setQueueAcl'
  | 'setQueueMetadata'
  | 'setServiceProperties'
  | 'updateMessage';

type BlobMethod =
  | 'acquireLease'
  | 'appendFromText'
  | 'commitBlocks'
  | 'createAppendBlobFromText'
  | 'createBlobSnapshot'
  | 'createBlockBlobFromStream'
  | 'createBlockBlobFromText'
  | 'createBlockFromText'
  | 'createContainer'
  | 'createContainerIfNotExists'
  | 'createPageBlob'
  | 'createPagesFromStream'
  | 'deleteBlob'
  | 'doesBlobExist'
  | 'getBlobProperties'
  | 'getBlobToText'
  | 'listBlobDirectoriesSegmentedWithPrefix'
  | 'listBlobsSegmentedWithPrefix'
  | 'listContainersSegmented'
  | 'listPageRanges'
  | 'releaseLease'
  | 'startCopyBlob';

interface Signing {
  generateSharedAccessSignature(name: string, policy: object): string;
}

export type LegacyTables = Signing & Readonly<Record<TableMethod, Method>>;
export type LegacyQueues = Signing &
  Readonly<Record<QueueMethod, Method>> & { messageEncoder: object };

export type LegacyBlobs = Readonly<Record<BlobMethod, Method>> & {
  generateSharedAccessSignature(container: string, blob: string, policy: object): string;
  getUrl(container: string, blob: string, token?: string): string;
};

export type LegacyBatch = Readonly<Record<BatchMethod, (...args: readonly unknown[]) => void>>;
type BatchMethod =
  | 'deleteEntity'
  | 'insertEntity'
  | 'insertOrMergeEntity'
  | 'insertOrReplaceEntity'
  | 'mergeEntity'
  | 'retrieveEntity';

interface LegacyQuery {
  top(count: number): LegacyQuery;
  where(condition: string, ...values: readonly unknown[]): LegacyQuery;
}

type TypeName =
  'Binary' | 'Boolean' | 'DateTime' | 'Double' | 'Guid' | 'Int32' | 'Int64' | 'String';

interface LegacyClient {
  createTableService(connectionOrName: string, key?: string): LegacyTables;
  createQueueService(connectionOrName: string, key?: string): LegacyQueues;
  createBlobService(connectionOrName: string, key?: string): LegacyBlobs;
  generateAccountSharedAccessSignature(name: string, key: string, policy: object): string;
  readonly TableBatch: new () => LegacyBatch;
  readonly TableQuery: new () => LegacyQuery;
  readonly TableUtilities: {
    readonly entityGenerator: Readonly<Record<TypeName, (value: unknown) => object>>;
  };
  readonly QueueMessageEncoder: {
    readonly TextBase64QueueMessageEncoder: new () => object;
    readonly TextXmlQueueMessageEncoder: new () => object;
  };
}

/** A row as responses of the client have it. */
export type LegacyRow = Record<string, { readonly _: unknown; readonly $?: string } | undefined>;

export interface LegacyError extends Error {
  readonly statusCode?: number;
  readonly code?: string;
}

type Callback<T> = (error: Error | null, result: T) => void;

export function loadLegacyClient(): LegacyClient {
  return requireExtra('azure-storage') as LegacyClient;
}

/** Converts a call with a callback to a promise. */
export function legacyCall<T>(start: (callback: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, result) => {
      if (error === null || error === undefined) resolve(result);
      else reject(error);
    });
  });
}

/** The status and code of the error that a call must end with. */
export async function legacyRefusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    const { statusCode, code } = error as LegacyError;
    return `${statusCode} ${code}`;
  }
  return assert.fail('expected a failure');
}

/** Makes containers of a service, whose names are counted. */
export function legacyNames(create: (name: string, done: Callback<unknown>) => void) {
  let count = 0;
  return async (): Promise<string> => {
    count += 1;
    const name = `legacy-${count}`;
    await legacyCall((done) => create(name, done));
    return name;
  };
}
