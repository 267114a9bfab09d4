import { signingForms } from '../../wire/auth/shared-key/signed-request.js';
import { element, textElement, xmlDocument } from '../../wire/xml/element.js';
import type { XmlElement } from '../../wire/xml/reader.js';
import { locationPath, locationText, type NamedBlob } from '../arguments/blob-location.js';
import { CommandFailure } from '../terminal/failure.js';
import { md5Of } from './blob-md5.js';
import type { Connection } from './connection.js';
import { timeText } from './http-time.js';
import { ConnectionError, ServiceError } from './service-error.js';
import { StorageClient, type ClientResponse, type ServiceProtocol } from './storage-client.js';
import { childOf, childText, xmlAnswer } from './xml-answer.js';

/** A blob in a list. */
export interface BlobListing {
  readonly kind: 'blob';
  readonly name: string;
  readonly bytes: number;
  /** ISO 8601 with seconds. */
  readonly modified: string;
  readonly contentType: string;
  /** `BlockBlob`, `AppendBlob` or `PageBlob`. */
  readonly blobType: string;
  readonly etag: string;
  /** Base64; undefined when none is kept with the blob. */
  readonly md5: string | undefined;
  /** The id of the version; undefined where no versions are kept. */
  readonly versionId: string | undefined;
  /** Whether the blob is this version; true where no versions are kept. */
  readonly isCurrent: boolean;
}

/** How far the last copy to a blob is. */
export interface CopyProgress {
  readonly id: string;
  /** `success`, `pending`, `aborted` or `failed`. */
  readonly status: string;
  readonly bytesDone: number;
  /** Why it failed. */
  readonly description: string | undefined;
}

/** The common beginning of names, up to a delimiter and with it. */
export interface BlobGroup {
  readonly kind: 'group';
  readonly name: string;
}

export interface BlobListPage {
  readonly items: readonly (BlobListing | BlobGroup)[];
  /** The marker of the next page; undefined on the last one. */
  readonly marker: string | undefined;
}

/** Bytes of a blob, and the properties of the whole blob in the answer. */
export interface BlobPart {
  readonly body: Buffer;
  /** The whole blob. */
  readonly bytesTotal: number;
  readonly etag: string;
  /** The checksum that is stored with the blob, base64; it may be that of its writer. */
  readonly md5: string | undefined;
}

/** Bytes from `start` on, before `end`. */
export interface BlobRange {
  readonly start: number;
  readonly end: number;
}

/** The properties that are stored with a blob. */
export interface BlobContentFacts {
  /** Base64. */
  readonly md5: string;
  /** Undefined: that of the service. */
  readonly contentType: string | undefined;
}

const protocol: ServiceProtocol = {
  // Later versions encode some names in lists.
  version: '2020-12-06',
  signing: signingForms.blob,
  scheme: 'SharedKey',
  headers: { Accept: 'application/xml' },
};

/** Items in one page of a list. */
const pageItemsMax = 1000;

/** The largest range that is answered with a checksum (blob-service §11.3). */
export const checkedRangeBytesMax = 4 * 1024 * 1024;

/** A client of a blob service. Never retries. */
export class BlobClient {
  readonly #storage: StorageClient;

  constructor(connection: Connection) {
    this.#storage = new StorageClient(connection, protocol);
  }

  /** Ends idle connections, so that the process can end. */
  close(): void {
    this.#storage.close();
  }

  /** Does nothing when the container exists. */
  async createContainer(container: string): Promise<void> {
    try {
      await this.#storage.request({ method: 'PUT', path: container, query: 'restype=container' });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'ContainerAlreadyExists') throw error;
    }
  }

  /** Stores a blob in one request. `md5` of the facts is checked by the service. */
  async putBlob(blob: NamedBlob, body: Buffer, { md5, contentType }: BlobContentFacts) {
    await this.#storage.request({
      method: 'PUT',
      path: locationPath(blob),
      headers: {
        'x-ms-blob-type': 'BlockBlob',
        'Content-MD5': md5,
        ...contentTypeHeader(contentType),
      },
      body,
    });
  }

  /** Stores a block that is part of no blob yet. `id` is base64. */
  async putBlock(blob: NamedBlob, id: string, body: Buffer, md5: string): Promise<void> {
    await this.#storage.request({
      method: 'PUT',
      path: locationPath(blob),
      query: `comp=block&blockid=${encodeURIComponent(id)}`,
      headers: { 'Content-MD5': md5 },
      body,
    });
  }

  /** Makes a blob of blocks. */
  async putBlockList(blob: NamedBlob, ids: readonly string[], facts: BlobContentFacts) {
    await this.#storage.request({
      method: 'PUT',
      path: locationPath(blob),
      query: 'comp=blocklist',
      headers: {
        'x-ms-blob-content-md5': facts.md5,
        ...contentTypeHeader(facts.contentType),
      },
      body: xmlDocument(element('BlockList', ids.map((id) => textElement('Latest', id)).join(''))),
    });
  }

  /** The sizes of the blocks that are part of no blob yet, by their ids. */
  async uncommittedBlocks(blob: NamedBlob): Promise<ReadonlyMap<string, number>> {
    const { body } = await this.#storage.request({
      method: 'GET',
      path: locationPath(blob),
      query: 'comp=blocklist&blocklisttype=uncommitted',
    });
    const { children } = childOf(xmlAnswer(body, 'BlockList'), 'UncommittedBlocks');
    return new Map(
      children.map((block) => [childText(block, 'Name'), Number(childText(block, 'Size'))]),
    );
  }

  /**
   * A range of a blob, of at most `checkedRangeBytesMax`; it may end beyond the blob. `etag`: only
   * of the blob that has it. Throws `ServiceError`, with the code `InvalidRange` for a range that
   * begins at the end of the blob or beyond, and `ConnectionError` when other bytes have arrived
   * than were sent.
   */
  async getRange(
    blob: NamedBlob,
    { start, end }: BlobRange,
    etag: string | undefined,
  ): Promise<BlobPart> {
    const answer = await this.#storage.request({
      method: 'GET',
      path: locationPath(blob),
      ...versionQuery(blob),
      headers: {
        'x-ms-range': `bytes=${start}-${end - 1}`,
        'x-ms-range-get-content-md5': 'true',
        ...(etag === undefined ? {} : { 'If-Match': etag }),
      },
    });
    return partOf(blob, answer, start);
  }

  /** A blob without bytes. Throws `CommandFailure` when it has some by now. */
  async getEmpty(blob: NamedBlob): Promise<BlobPart> {
    const answer = await this.#storage.request({
      method: 'GET',
      path: locationPath(blob),
      ...versionQuery(blob),
    });
    if (answer.body.length > 0) throw changed(blob);
    return { body: answer.body, bytesTotal: 0, etag: '', md5: undefined };
  }

  /** Begins a copy of the blob that a URL names; it may be done at once. */
  async startCopy(blob: NamedBlob, source: string): Promise<CopyProgress> {
    const headers = { 'x-ms-copy-source': source };
    const answer = await this.#storage.request({
      method: 'PUT',
      path: locationPath(blob),
      headers,
    });
    return progressOf(answer);
  }

  /** How far the last copy to a blob is. */
  async copyProgress(blob: NamedBlob): Promise<CopyProgress> {
    return progressOf(await this.#storage.request({ method: 'HEAD', path: locationPath(blob) }));
  }

  /** The URL of a blob, with the signature of the connection if it has one. */
  urlOf(blob: NamedBlob): string {
    const { endpoint, credential } = this.#storage.connection;
    const url = `${endpoint}/${locationPath(blob)}`;
    const isSigned = credential.kind === 'sas' && credential.query !== '';
    return isSigned ? `${url}?${credential.query}` : url;
  }

  /** Deletes a blob and its snapshots. */
  async deleteBlob(blob: NamedBlob): Promise<void> {
    await this.#storage.request({
      method: 'DELETE',
      path: locationPath(blob),
      headers: { 'x-ms-delete-snapshots': 'include' },
    });
  }

  async listPage(
    container: string,
    options: {
      readonly prefix: string;
      /** Undefined: every blob is listed. */
      readonly delimiter: string | undefined;
      readonly marker: string | undefined;
      /** Lists former versions as well. Absent: false. */
      readonly versions?: boolean | undefined;
    },
  ): Promise<BlobListPage> {
    const { prefix, delimiter = '', marker = '', versions = false } = options;
    const query = [
      'restype=container',
      'comp=list',
      `maxresults=${pageItemsMax}`,
      ...(versions ? ['include=versions'] : []),
      ...Object.entries({ prefix, delimiter, marker })
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `${name}=${encodeURIComponent(value)}`),
    ];
    const answer = await this.#storage.request({
      method: 'GET',
      path: container,
      query: query.join('&'),
    });
    const root = xmlAnswer(answer.body, 'EnumerationResults');
    return {
      items: childOf(root, 'Blobs').children.map(itemOf),
      marker: childText(root, 'NextMarker') || undefined,
    };
  }
}

function versionQuery({ versionId }: NamedBlob): { readonly query?: string } {
  return versionId === undefined ? {} : { query: `versionid=${encodeURIComponent(versionId)}` };
}

function contentTypeHeader(contentType: string | undefined): Readonly<Record<string, string>> {
  return contentType === undefined ? {} : { 'x-ms-blob-content-type': contentType };
}

function progressOf({ headers }: ClientResponse): CopyProgress {
  const text = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    id: text('x-ms-copy-id') ?? '',
    status: text('x-ms-copy-status') ?? 'replaced',
    bytesDone: Number(text('x-ms-copy-progress')?.split('/')[0] ?? 0),
    description: text('x-ms-copy-status-description'),
  };
}

/** The answer must be `bytes start-end/total`, and its bytes those of its checksum. */
function partOf(blob: NamedBlob, { headers, body }: ClientResponse, start: number): BlobPart {
  const [, first = '', last = '', total = ''] =
    /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  if (Number(first) !== start || Number(last) !== start + body.length - 1 || total === '') {
    throw new CommandFailure(
      `The endpoint answers other bytes of ${locationText(blob)} than asked.`,
    );
  }
  const md5 = headers['content-md5'];
  if (typeof md5 === 'string' && md5 !== md5Of(body)) {
    throw new ConnectionError(`Bytes of ${locationText(blob)} were damaged on the way.`);
  }
  const stored = headers['x-ms-blob-content-md5'];
  return {
    body,
    bytesTotal: Number(total),
    etag: headers.etag ?? '',
    md5: typeof stored === 'string' ? stored : undefined,
  };
}

/** The failure of a read of a blob that another client has written meanwhile. */
export function changed(blob: NamedBlob): CommandFailure {
  return new CommandFailure(`${locationText(blob)} was changed while it was read: get it again.`);
}

function itemOf(item: XmlElement): BlobListing | BlobGroup {
  const name = childText(item, 'Name');
  if (item.name === 'BlobPrefix') return { kind: 'group', name };
  const properties = childOf(item, 'Properties');
  const versionId = childText(item, 'VersionId') || undefined;
  return {
    kind: 'blob',
    name,
    bytes: Number(childText(properties, 'Content-Length')),
    modified: timeText(childText(properties, 'Last-Modified')),
    contentType: childText(properties, 'Content-Type'),
    blobType: childText(properties, 'BlobType'),
    etag: childText(properties, 'Etag'),
    md5: childText(properties, 'Content-MD5') || undefined,
    versionId,
    isCurrent: versionId === undefined || childText(item, 'IsCurrentVersion') === 'true',
  };
}
