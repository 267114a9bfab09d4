import type { BlobWireClient } from '../wire/kit/blob-client.js';
import type { Headers } from '../wire/kit/request-bytes.js';
import type { WireResponse } from '../wire/kit/response.js';
import { outcome, type Difference } from './azurite-differences.js';

// As azurite-differences.ts, for blobs.

const auth = 'none' as const;
const kinds = {
  block: { 'x-ms-blob-type': 'BlockBlob' },
  append: { 'x-ms-blob-type': 'AppendBlob' },
  page: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' },
} as const;
type Kind = keyof typeof kinds;

const bodyOf = (kind: Kind) => (kind === 'block' ? { body: 'hello' } : {});

/** The path of a new blob. */
async function made(
  client: BlobWireClient,
  kind: Kind = 'block',
  headers: Headers = {},
): Promise<string> {
  const path = `/${await client.newContainer()}/b`;
  const request = { method: 'PUT', path, headers: { ...kinds[kind], ...headers } };
  await client.expect(201, { ...request, ...bodyOf(kind) });
  return path;
}

/** What a request that makes a blob is answered. */
async function making(client: BlobWireClient, kind: Kind, headers: Headers): Promise<string> {
  const path = `/${await client.newContainer()}/b`;
  const request = { method: 'PUT', path, headers: { ...kinds[kind], ...headers } };
  return outcome(await client.send({ ...request, ...bodyOf(kind) }));
}

/** What a request about a new blob is answered. */
async function about(
  client: BlobWireClient,
  kind: Kind,
  method: string,
  query: string,
  headers: Headers = {},
  body?: string,
): Promise<WireResponse> {
  const path = `${await made(client, kind)}${query}`;
  return client.send({ method, path, headers, ...(body === undefined ? {} : { body }) });
}

const told =
  (...request: Parameters<typeof about> extends [unknown, ...infer Rest] ? Rest : never) =>
  async (client: BlobWireClient): Promise<string> =>
    outcome(await about(client, ...request));

/** What a list of a new container is answered. */
const listed = (query: string) => async (client: BlobWireClient) => {
  const path = `/${await client.newContainer()}?restype=container&comp=list&${query}`;
  return outcome(await client.send({ path }));
};

const hourAgo = () => new Date(Date.now() - 3_600_000).toUTCString();
export const blobDifferences: readonly Difference<BlobWireClient>[] = [
  {
    request: 'Put Blob with the tier `P4`',
    ask: (client) => making(client, 'block', { 'x-ms-access-tier': 'P4' }),
  },
  {
    request: 'append blob made with the tier `Hot`',
    ask: (client) => making(client, 'append', { 'x-ms-access-tier': 'Hot' }),
  },
  {
    request: 'Put Blob with `x-ms-encryption-scope: mine`',
    ask: (client) => making(client, 'block', { 'x-ms-encryption-scope': 'mine' }),
  },
  {
    request: 'Put Blob with `x-ms-legal-hold: true`',
    ask: (client) => making(client, 'block', { 'x-ms-legal-hold': 'true' }),
  },
  {
    request: 'Put Blob with a tag of the character `!`',
    ask: (client) => making(client, 'block', { 'x-ms-tags': 'a%21=x' }),
  },
  {
    request: 'Put Blob with 9 KiB of metadata',
    ask: (client) => making(client, 'block', { 'x-ms-meta-a': 'x'.repeat(9 * 1024) }),
  },
  {
    request: 'Get Blob with `Range: bytes=-2`',
    ask: told('block', 'GET', '', { Range: 'bytes=-2' }),
  },
  {
    request: 'Get Blob of `snapshot` and `versionid`',
    ask: told(
      'block',
      'GET',
      '?snapshot=2020-01-01T00:00:00.0000000Z&versionid=2020-01-01T00:00:00.0000000Z',
    ),
  },
  {
    request: 'Get Blob of a range with `x-ms-range-get-content-crc64`: the header',
    ask: async (client) => {
      const headers = { Range: 'bytes=0-1', 'x-ms-range-get-content-crc64': 'true' };
      const { headers: answered } = await about(client, 'block', 'GET', '', headers);
      return answered.some(([name]) => name === 'x-ms-content-crc64') ? 'sent' : 'not sent';
    },
  },
  {
    request: 'Get Blob of a private container without a credential',
    ask: async (client) => outcome(await client.send({ path: await made(client), auth })),
  },
  {
    request: '`comp=other` of a blob',
    ask: told('block', 'PUT', '?comp=other'),
  },
  {
    request: '`timeout=soon`',
    ask: told('block', 'GET', '?timeout=soon'),
  },
  {
    request: 'Query Blob Contents',
    ask: told('block', 'POST', '?comp=query', {}, '<QueryRequest/>'),
  },
  {
    request: 'Set Blob Expiry',
    ask: told('block', 'PUT', '?comp=expiry', { 'x-ms-expiry-option': 'NeverExpire' }),
  },
  {
    request: 'sealing an append blob: its ETag',
    ask: async (client) => {
      const path = await made(client, 'append');
      const etag = async () => (await client.send({ method: 'HEAD', path })).header('etag');
      const before = await etag();
      const sealed = await client.send({ method: 'PUT', path: `${path}?comp=seal` });
      if (sealed.status !== 200) return outcome(sealed);
      return (await etag()) === before ? 'the same' : 'another';
    },
  },
  {
    request: 'Put Page of 100 bytes',
    ask: told(
      'page',
      'PUT',
      '?comp=page',
      { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-99' },
      'x'.repeat(100),
    ),
  },
  {
    request: 'Incremental Copy Blob',
    ask: async (client) => {
      const path = await made(client, 'page');
      const taken = await client.send({ method: 'PUT', path: `${path}?comp=snapshot` });
      const snapshot = encodeURIComponent(taken.header('x-ms-snapshot') ?? '');
      const source = `http://127.0.0.1:${client.port}/${client.account}${path}?snapshot=${snapshot}`;
      const copy = { method: 'PUT', path: `${path}2?comp=incrementalcopy` };
      return outcome(await client.send({ ...copy, headers: { 'x-ms-copy-source': source } }));
    },
  },
  {
    request: 'Set Blob Properties with a wrong `x-ms-blob-content-md5`',
    ask: told('block', 'PUT', '?comp=properties', { 'x-ms-blob-content-md5': 'x' }),
  },
  {
    request: 'Delete Blob with `deletetype=permanent`',
    ask: told('block', 'DELETE', '?deletetype=permanent'),
  },
  {
    request: 'Undelete Blob of a blob that is there',
    ask: told('block', 'PUT', '?comp=undelete'),
  },
  { request: 'List Blobs with `maxresults=0`', ask: listed('maxresults=0') },
  { request: 'List Blobs with `marker=x`', ask: listed('marker=x') },
  { request: 'List Blobs with `include=other`', ask: listed('include=other') },
  {
    request: 'List Blobs with a delimiter and `include=snapshots`',
    ask: listed('delimiter=/&include=snapshots'),
  },
  {
    request: 'Restore Container of one that was not deleted',
    async ask(client) {
      const container = await client.newContainer();
      const path = `/${container}?restype=container`;
      await client.send({ method: 'DELETE', path });
      const headers = {
        'x-ms-deleted-container-name': container,
        'x-ms-deleted-container-version': '01D69540C360196E',
      };
      return outcome(await client.send({ method: 'PUT', path: `${path}&comp=undelete`, headers }));
    },
  },
  {
    request: 'date of a signed request one hour off',
    ask: async (client) => outcome(await client.send({ headers: { 'x-ms-date': hourAgo() } })),
  },
  {
    request: '`x-ms-version: 2027-01-01`',
    ask: async (client) => outcome(await client.send({ version: '2027-01-01' })),
  },
  {
    request: 'logging of a new account',
    async ask(client) {
      const { text } = await client.send({ path: '/?restype=service&comp=properties' });
      return /<Logging>.*<Write>true/s.test(text) ? 'on' : 'off';
    },
  },
];
