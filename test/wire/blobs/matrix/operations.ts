import type { DatedRequest } from '../../kit/dated-client.js';

// The operations of blobs as the tables of conditions and leases see them (blob-service §9.5,
// §10.4).

export type BlobKind = 'block' | 'append' | 'page';

export interface TableOperation {
  readonly name: string;
  /** Of the blob that it is sent to. */
  readonly kind: BlobKind;
  /** `create`: replaces the blob or makes one. `stage`: goes on where there is none. */
  readonly use: 'read' | 'create' | 'change' | 'stage';
  readonly conditions: 'all' | 'tags' | 'none';
  /** Whether a blob with uncommitted blocks only is there for it. */
  readonly seesUncommitted?: true;
  /** A lease that is held does not stand in the way; an id that is sent must fit. */
  readonly leaseIsOptional?: true;
  /** A copy to a blob with a lease that ends. */
  readonly needsInfiniteLease?: true;
  /** Afterwards there is another ETag. */
  readonly movesEtag?: true;
  readonly deletes?: true;
  readonly success: number;
  /** `source`: the URL of a blob to copy from. */
  request(path: string, source: string): DatedRequest;
}

const lastPage = { 'x-ms-range': 'bytes=0-511' };
const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' };

/** Writes of a whole blob, as which a blob of each type begins. */
export const creations: Readonly<Record<BlobKind, (path: string) => DatedRequest>> = {
  block: (path) => put(path, { 'x-ms-blob-type': 'BlockBlob' }, 'text'),
  append: (path) => put(path, { 'x-ms-blob-type': 'AppendBlob' }),
  page: (path) => put(path, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' }),
};

function put(path: string, headers: Record<string, string> = {}, body?: string): DatedRequest {
  return { method: 'PUT', path, headers, ...(body === undefined ? {} : { body }) };
}

const creation = (kind: BlobKind): TableOperation => ({
  name: `Put Blob (${kind})`,
  kind,
  use: 'create',
  conditions: 'all',
  movesEtag: true,
  success: 201,
  request: (path) => creations[kind](path),
});

const reading = { kind: 'block', use: 'read', success: 200 } as const;
const changing = { kind: 'block', use: 'change', conditions: 'all' } as const;
const creating = { kind: 'block', use: 'create', conditions: 'all', movesEtag: true } as const;

export const operations: readonly TableOperation[] = [
  { ...reading, name: 'Get Blob', conditions: 'all', request: (path) => ({ path }) },
  {
    ...reading,
    name: 'Get Blob Properties',
    conditions: 'all',
    request: (path) => ({ method: 'HEAD', path }),
  },
  {
    ...reading,
    name: 'Get Blob Metadata',
    conditions: 'all',
    request: (path) => ({ path: `${path}?comp=metadata` }),
  },
  {
    ...reading,
    name: 'Get Page Ranges',
    kind: 'page',
    conditions: 'all',
    request: (path) => ({ path: `${path}?comp=pagelist` }),
  },
  {
    ...reading,
    name: 'Get Blob Tags',
    conditions: 'tags',
    request: (path) => ({ path: `${path}?comp=tags` }),
  },
  {
    ...reading,
    name: 'Get Block List',
    conditions: 'tags',
    seesUncommitted: true,
    request: (path) => ({ path: `${path}?comp=blocklist&blocklisttype=all` }),
  },
  creation('block'),
  creation('append'),
  creation('page'),
  {
    ...creating,
    name: 'Put Block List',
    success: 201,
    request: (path) => put(`${path}?comp=blocklist`, {}, '<BlockList></BlockList>'),
  },
  {
    ...creating,
    name: 'Copy Blob',
    needsInfiniteLease: true,
    success: 202,
    request: (path, source) => put(path, { 'x-ms-copy-source': source }),
  },
  {
    ...creating,
    name: 'Copy Blob From URL',
    needsInfiniteLease: true,
    success: 202,
    request: (path, source) =>
      put(path, { 'x-ms-copy-source': source, 'x-ms-requires-sync': 'true' }),
  },
  {
    ...creating,
    name: 'Put Blob From URL',
    success: 201,
    request: (path, source) =>
      put(path, { 'x-ms-copy-source': source, 'x-ms-blob-type': 'BlockBlob' }),
  },
  {
    name: 'Put Block',
    kind: 'block',
    use: 'stage',
    conditions: 'none',
    success: 201,
    request: (path) => put(`${path}?comp=block&blockid=AAAA`, {}, 'block'),
  },
  {
    ...changing,
    name: 'Set Blob Properties',
    movesEtag: true,
    success: 200,
    request: (path) => put(`${path}?comp=properties`),
  },
  {
    ...changing,
    name: 'Set Blob Metadata',
    movesEtag: true,
    success: 200,
    request: (path) => put(`${path}?comp=metadata`, { 'x-ms-meta-a': 'b' }),
  },
  {
    ...changing,
    name: 'Set Blob Tier',
    conditions: 'tags',
    success: 200,
    request: (path) => put(`${path}?comp=tier`, { 'x-ms-access-tier': 'Hot' }),
  },
  {
    ...changing,
    name: 'Set Blob Tags',
    conditions: 'tags',
    success: 204,
    request: (path) =>
      put(
        `${path}?comp=tags`,
        {},
        '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>',
      ),
  },
  {
    ...changing,
    name: 'Snapshot Blob',
    leaseIsOptional: true,
    success: 201,
    request: (path) => put(`${path}?comp=snapshot`),
  },
  {
    ...changing,
    name: 'Append Block',
    kind: 'append',
    movesEtag: true,
    success: 201,
    request: (path) => put(`${path}?comp=appendblock`, {}, 'text'),
  },
  {
    ...changing,
    name: 'Append Block From URL',
    kind: 'append',
    movesEtag: true,
    success: 201,
    request: (path, source) => put(`${path}?comp=appendblock`, { 'x-ms-copy-source': source }),
  },
  {
    ...changing,
    name: 'Append Blob Seal',
    kind: 'append',
    success: 200,
    request: (path) => put(`${path}?comp=seal`),
  },
  {
    ...changing,
    name: 'Put Page',
    kind: 'page',
    movesEtag: true,
    success: 201,
    request: (path) =>
      put(`${path}?comp=page`, { ...lastPage, 'x-ms-page-write': 'update' }, 'x'.repeat(512)),
  },
  {
    ...changing,
    name: 'Clear Page',
    kind: 'page',
    movesEtag: true,
    success: 201,
    request: (path) => put(`${path}?comp=page`, { ...lastPage, 'x-ms-page-write': 'clear' }),
  },
  {
    ...changing,
    name: 'Set Blob Properties (size)',
    kind: 'page',
    movesEtag: true,
    success: 200,
    request: (path) => put(`${path}?comp=properties`, { 'x-ms-blob-content-length': '512' }),
  },
  {
    ...changing,
    name: 'Delete Blob',
    seesUncommitted: true,
    deletes: true,
    success: 202,
    request: (path) => ({
      method: 'DELETE',
      path,
      headers: { 'x-ms-delete-snapshots': 'include' },
    }),
  },
];

/** Lease Blob takes conditions, and goes by a table of its own otherwise. */
export const leaseOperation: TableOperation = {
  ...changing,
  name: 'Lease Blob',
  success: 201,
  request: (path) => put(`${path}?comp=lease`, acquire),
};
