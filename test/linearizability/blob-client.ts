import { crashContainer } from '../crash/blob-load.js';
import type { BlobWireClient } from '../wire/kit/blob-client.js';
import type { DatedRequest } from '../wire/kit/dated-client.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { CommitInput, CommitOutput, LogInput, LogOutput } from './blob-models.js';

// Requests to a log and to a blob that is committed, as the models know them.

const logPath = `/${crashContainer}/log`;
const committedPath = `/${crashContainer}/committed`;
const blockId = Buffer.from('id').toString('base64');

/** What is there before the first request, with its ETag. */
export async function makeHistoryBlobs(client: BlobWireClient): Promise<string> {
  const put = { method: 'PUT' };
  const headers = { 'x-ms-blob-type': 'AppendBlob' };
  await client.expect(201, { ...put, path: logPath, headers });
  const path = `${committedPath}?comp=block&blockid=${encodeURIComponent(blockId)}`;
  await client.expect(201, { ...put, path, body: 'x' });
  const { etag } = await committed(client, 'x', 'Uncommitted', {});
  return etag;
}

/** Rejects when no complete response arrives, or one that a correct server does not give. */
export async function askLog(client: BlobWireClient, input: LogInput): Promise<LogOutput> {
  const response = await client.send(logRequest(input));
  const code = response.header('x-ms-error-code');
  if (code !== undefined && response.status < 500) return { kind: 'refused', code };
  if (response.status >= 300) throw unexpected(response);
  switch (input.kind) {
    case 'read':
      return { kind: 'text', text: response.text };
    case 'append':
      return { kind: 'appended', offset: Number(response.header('x-ms-blob-append-offset')) };
    default:
      return { kind: 'done' };
  }
}

function logRequest(input: LogInput): DatedRequest {
  const method = 'PUT';
  switch (input.kind) {
    case 'read':
      return { path: logPath };
    case 'acquire': {
      const headers = {
        'x-ms-lease-action': 'acquire',
        'x-ms-lease-duration': '-1',
        'x-ms-proposed-lease-id': input.lease,
      };
      return { method, path: `${logPath}?comp=lease`, headers };
    }
    case 'release': {
      const headers = { 'x-ms-lease-action': 'release', 'x-ms-lease-id': input.lease };
      return { method, path: `${logPath}?comp=lease`, headers };
    }
    default: {
      const { letter, at, lease } = input;
      const headers = {
        ...(at !== undefined && { 'x-ms-blob-condition-appendpos': String(at) }),
        ...(lease !== undefined && { 'x-ms-lease-id': lease }),
      };
      return { method, path: `${logPath}?comp=appendblock`, headers, body: letter };
    }
  }
}

/** The same of the blob that is committed. */
export async function askCommit(client: BlobWireClient, input: CommitInput): Promise<CommitOutput> {
  if (input.kind === 'read') {
    const response = await client.expect(200, { path: committedPath });
    return { kind: 'is', block: response.text, etag: etagOf(response) };
  }
  const { block, ifMatch } = input;
  return committed(
    client,
    block,
    'Committed',
    ifMatch === undefined ? {} : { 'If-Match': ifMatch },
  );
}

async function committed(
  client: BlobWireClient,
  block: string,
  element: string,
  headers: Readonly<Record<string, string>>,
): Promise<CommitOutput & { readonly etag: string }> {
  // One block as often as the text is long: a commit keeps the blocks that it names.
  const blocks = `<${element}>${blockId}</${element}>`.repeat(block.length);
  const body = `<BlockList>${blocks}</BlockList>`;
  const path = `${committedPath}?comp=blocklist`;
  const response = await client.send({ method: 'PUT', path, headers, body });
  if (response.status === 412) return { kind: 'refused', etag: '' };
  if (response.status !== 201) throw unexpected(response);
  return { kind: 'is', block, etag: etagOf(response) };
}

function etagOf(response: WireResponse): string {
  return response.header('ETag') ?? '';
}

function unexpected({ status, text }: WireResponse): Error {
  return new Error(`answered ${status}: ${text}`);
}
