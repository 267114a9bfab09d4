import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { StaticWebsite } from '../../model/resources/service-properties.js';
import { websiteContainer } from '../../services/blobs/container-name.js';
import type { BlobReading, ReadRange } from '../../services/blobs/types.js';
import { contentRange, readRange } from '../../wire/blobs/byte-ranges.js';
import { readConditions } from '../../wire/blobs/conditions.js';
import { addContentHeaders } from '../../wire/blobs/content-headers.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';
import { blobNameLengthMax, parseBlobPath } from '../../wire/blobs/resource-path.js';
import { errorPage } from '../../wire/errors/error-page.js';
import type { Exchange } from '../exchange/exchange.js';
import type { PartitionLoad } from '../exchange/request-load.js';
import type {
  AddressedRequest,
  Operation,
  Reply,
  Route,
  StreamedReply,
} from '../exchange/service.js';
import { accountName } from '../operations/request.js';
import { addMd5Header } from './blob-headers.js';
import type { BlobBackend } from './request.js';

/** `account.web.…`, and as in the cloud `account.z6.web.…`. */
const websiteHost = /^[a-z0-9]+(?:-secondary)?\.(?:z\d+\.)?web\./i;

/** A request to the static website of an account: its host says so. */
export class WebsiteRequest implements AddressedRequest {
  readonly container = websiteContainer;
  readonly backend: BlobBackend;
  readonly exchange: Exchange;
  /** The requested path: the blob that will be sent is not known yet. Absent: the root. */
  readonly partitionKey: string | undefined;

  constructor(backend: BlobBackend, exchange: Exchange) {
    this.backend = backend;
    this.exchange = exchange;
    this.partitionKey = pathOrRoot(exchange.path);
  }

  /** A request whose path names a blob counts as load of it, like other requests. */
  get load(): readonly PartitionLoad[] | undefined {
    const { partitionKey } = this;
    return partitionKey === undefined ? undefined : [{ partitionKey, count: 1 }];
  }

  readonly header = (name: string): string | undefined => this.exchange.header(name);
}

/** Whether a request is for the website of its account. An account in the path has none. */
export function isForWebsite({ host, resourcePath, path }: Exchange): boolean {
  return resourcePath === path && websiteHost.test(host);
}

interface Input {
  /** The path without its slash, decoded. */
  readonly path: string;
  readonly conditions: BlobConditions;
  readonly range: ReadRange | undefined;
}

interface Found {
  readonly reading: BlobReading;
  /** Whether this is the error document: the requested blob does not exist. */
  readonly isError: boolean;
}

const getWebContent: Operation<WebsiteRequest, Input, Found, StreamedReply> = {
  access: { kind: 'public' },
  bodyBytesMax: 0,

  parse({ exchange, header }) {
    const { method, path } = exchange;
    if (method !== 'GET' && method !== 'HEAD') {
      throw new StorageError('UnsupportedHttpVerb', { allowed: ['GET', 'HEAD'] });
    }
    return {
      path: documentPath(path),
      // Conditions on tags are ignored, because they would reveal tags, which are never public.
      conditions: readConditions(
        (name) => (name === 'x-ms-if-tags' ? undefined : header(name)),
        'read',
        exchange.version,
      ),
      range: method === 'GET' ? readRange(header) : undefined,
    };
  },

  async run(input, request) {
    const { backend, exchange } = request;
    const account = accountName(exchange);
    const { staticWebsite } = await backend.properties.get('blob', account);
    if (staticWebsite?.enabled !== true) throw new StorageError('ResourceNotFound');
    const { conditions, range } = input;
    for (const blob of documentsOf(input.path, staticWebsite)) {
      const reading = await find(request, blob, { conditions, range });
      if (reading !== undefined) return { reading, isError: false };
    }
    const { errorDocument404Path: blob } = staticWebsite;
    const reading = blob === undefined ? undefined : await find(request, blob, {});
    if (reading === undefined) throw new StorageError('WebContentNotFound');
    return { reading, isError: true };
  },

  render({ reading, isError }, { range }, { exchange }) {
    const { properties, start, end, body } = reading;
    const headers = modifiedHeaders(properties.modifiedMicros);
    addContentHeaders(headers, properties.headers, {});
    headers.push('Accept-Ranges', 'bytes');
    const stream = { bytes: end - start, pieces: body, close: () => reading.close() };
    if (isError) return { status: 404, headers, stream };
    if (range !== undefined) {
      const part = contentRange({ first: start, last: end - 1 }, properties.bytes);
      return { status: 206, headers: [...headers, 'Content-Range', part], stream };
    }
    addMd5Header(headers, 'Content-MD5', properties);
    if (exchange.method === 'GET') return { status: 200, headers, stream };
    reading.close();
    return { status: 200, headers, stream: { ...stream, pieces: nothing() } };
  },
};

/** Empty for the root. Throws `InvalidUri`. */
function documentPath(path: string): string {
  if (path === '/') return '';
  const resource = parseBlobPath(`/${websiteContainer}${path}`, false);
  return resource.kind === 'blob' ? resource.blob : '';
}

/** The path; undefined for the root, and for a path that `documentPath` refuses. */
function pathOrRoot(path: string): string | undefined {
  try {
    const document = documentPath(path);
    return document === '' ? undefined : document;
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

async function* nothing(): AsyncGenerator<Buffer> {
  // The answer to HEAD.
}

/** The blobs that a path may mean. The first one that exists is sent. */
function documentsOf(
  path: string,
  { indexDocument, defaultIndexDocumentPath }: StaticWebsite,
): readonly string[] {
  const isRoot = path === '';
  if (isRoot && defaultIndexDocumentPath !== undefined) return [defaultIndexDocumentPath];
  const own = isRoot || path.endsWith('/') ? [] : [path];
  if (indexDocument === undefined) return own;
  const folder = isRoot || path.endsWith('/') ? path : `${path}/`;
  const index = `${folder}${indexDocument}`;
  return index.length > blobNameLengthMax ? own : [...own, index];
}

/** Undefined: there is no such document. */
async function find(
  { backend, exchange }: WebsiteRequest,
  blob: string,
  access: { readonly conditions?: BlobConditions; readonly range?: ReadRange | undefined },
): Promise<BlobReading | undefined> {
  const address = { account: accountName(exchange), container: websiteContainer, blob };
  try {
    return await backend.blobs.getBlob(address, access);
  } catch (error) {
    const isAbsent = error instanceof StorageError && error.status === 404;
    if (isAbsent) return undefined;
    throw error;
  }
}

/** The one operation of a website, under its name in records. */
export const websiteRoute: Route = { name: 'GetWebContent', operation: getWebContent };

/** The answer of a website that has no document for an error: browsers show it. */
export function webErrorReply(error: StorageError, exchange: Exchange): Reply {
  const headers = ['Content-Type', 'text/html', 'x-ms-error-code', error.code];
  return { status: error.status, reason: error.message, headers, body: errorPage(error, exchange) };
}
