import { blobProperties } from '../../wire/xml/service-properties.js';
import { preflight } from '../cors/preflight.js';
import { getUserDelegationKey } from '../operations/get-user-delegation-key.js';
import { routeTo, serviceRouter } from '../operations/route.js';
import { getServiceProperties, setServiceProperties } from '../operations/service-properties.js';
import { getServiceStats } from '../operations/service-stats.js';
import type { BlobRoute, RoutedBlobRequest } from './blob-route.js';
import { blobBatch } from './batch.js';
import { absentRoutes } from './absent-operations.js';
import { appendBlock, createAppendBlob, sealAppendBlob } from './append-blob.js';
import { getPageRanges } from './get-page-ranges.js';
import { createPageBlob, putPage } from './page-blob.js';
import { snapshotBlob } from './snapshot-blob.js';
import { getContainerAcl, setContainerAcl } from './container-acl.js';
import { blobLeaseRoutes } from './blob-lease.js';
import { getBlobTags, setBlobTags } from './blob-tags.js';
import { containerLeaseRoutes } from './container-lease.js';
import { abortCopyBlob, copyBlob, copyBlobFromUrl } from './copy-blob.js';
import { hasCopySource } from './copy-source.js';
import {
  appendBlockFromUrl,
  putBlobFromUrl,
  putBlockFromUrl,
  putPageFromUrl,
} from './write-from-url.js';
import { createContainer } from './create-container.js';
import {
  deleteBlob,
  deleteBlobPermanently,
  deleteBlobVersion,
  isPermanent,
  namesVersion,
} from './delete-blob.js';
import { deleteContainer } from './delete-container.js';
import { findBlobs, findBlobsInContainer } from './find-blobs.js';
import { getAccountInformation } from './get-account-information.js';
import { getBlob } from './get-blob.js';
import { getBlobMetadata, getBlobProperties } from './get-blob-properties.js';
import { getBlockList } from './get-block-list.js';
import { deleteImmutabilityPolicy, setImmutabilityPolicy, setLegalHold } from './immutability.js';
import { incrementalCopyBlob } from './incremental-copy.js';
import { listBlobs } from './list-blobs.js';
import { listContainers } from './list-containers.js';
import { getContainerMetadata, getContainerProperties } from './get-container.js';
import { restoreContainer } from './restore-container.js';
import { setBlobTier } from './set-blob-tier.js';
import { putBlob } from './put-blob.js';
import { putBlockList } from './put-block-list.js';
import { putBlock } from './put-block.js';
import { setBlobMetadata, setBlobProperties } from './set-blob-properties.js';
import { setContainerMetadata } from './set-container-metadata.js';
import { undeleteBlob } from './undelete-blob.js';
import { websiteRoute } from './website.js';

const ofService = { resource: 'service', restype: 'service' } as const;
const properties = { ...ofService, comp: 'properties' } as const;
const stats = { ...ofService, comp: 'stats' } as const;
const delegationKey = { ...ofService, comp: 'userdelegationkey' } as const;
const blob = { resource: 'blob' } as const;
const container = { resource: 'container', restype: 'container' } as const;
const batchOf = { methods: ['POST'], comp: 'batch' } as const;
const tags = { resource: 'blob', comp: 'tags' } as const;
const tier = { resource: 'blob', comp: 'tier' } as const;
const policy = { ...blob, comp: 'immutabilityPolicies', since: '2020-06-12' } as const;
const hold = { ...blob, comp: 'legalhold', since: '2020-06-12' } as const;
const inAccount = { resource: 'service', comp: 'blobs' } as const;
const inContainer = { ...container, comp: 'blobs' } as const;
const metadata = { ...container, comp: 'metadata' } as const;
const acl = { ...container, comp: 'acl' } as const;
const reading = ['GET', 'HEAD'];
const information = { methods: reading, everywhere: true, when: isAccountInformation } as const;

/** The address may be that of the account, of a container or of a blob. */
function isAccountInformation({ query }: RoutedBlobRequest): boolean {
  return query.get('restype') === 'account' && query.get('comp') === 'properties';
}

const page = { resource: 'blob', comp: 'page' } as const;

function clearsPages({ header }: RoutedBlobRequest): boolean {
  return header('x-ms-page-write')?.toLowerCase() === 'clear';
}

/** The type of blob distinguishes Put Blob From URL from a copy. */
function copies(request: RoutedBlobRequest): boolean {
  return hasCopySource(request) && request.header('x-ms-blob-type') === undefined;
}

function copiesAtOnce(request: RoutedBlobRequest): boolean {
  return copies(request) && request.header('x-ms-requires-sync')?.toLowerCase() === 'true';
}

/** Whether a request makes a blob of this type, which is not the default one. */
function hasType(type: string) {
  return ({ header }: RoutedBlobRequest) => header('x-ms-blob-type')?.toLowerCase() === type;
}

const setProperties = setServiceProperties(blobProperties);
const getDelegationKey = getUserDelegationKey('blob');

/** Routed before the others, whatever the path. */
export const blobPreflight: BlobRoute = routeTo(
  'BlobPreflightRequest',
  { methods: ['OPTIONS'], everywhere: true },
  preflight,
);

/**
 * Every operation of the service (blob-service §1.2), the most frequent first. A test compares this
 * table with docs/reference/compatibility.md.
 */
export const blobRoutes: readonly BlobRoute[] = [
  routeTo('GetBlob', { methods: ['GET'], ...blob }, getBlob),
  routeTo('GetBlobProperties', { methods: ['HEAD'], ...blob }, getBlobProperties),
  routeTo('CopyBlobFromURL', { methods: ['PUT'], ...blob, when: copiesAtOnce }, copyBlobFromUrl),
  routeTo('CopyBlob', { methods: ['PUT'], ...blob, when: copies }, copyBlob),
  routeTo('PutBlobFromURL', { methods: ['PUT'], ...blob, when: hasCopySource }, putBlobFromUrl),
  routeTo(
    'IncrementalCopyBlob',
    { methods: ['PUT'], ...blob, comp: 'incrementalcopy', since: '2016-05-31' },
    incrementalCopyBlob,
  ),
  routeTo('AbortCopyBlob', { methods: ['PUT'], ...blob, comp: 'copy' }, abortCopyBlob),
  routeTo(
    'PutBlockFromURL',
    { methods: ['PUT'], ...blob, comp: 'block', when: hasCopySource },
    putBlockFromUrl,
  ),
  routeTo(
    'AppendBlockFromURL',
    { methods: ['PUT'], ...blob, comp: 'appendblock', when: hasCopySource },
    appendBlockFromUrl,
  ),
  routeTo('PutPageFromURL', { methods: ['PUT'], ...page, when: hasCopySource }, putPageFromUrl),
  routeTo('PutBlob', { methods: ['PUT'], ...blob, when: hasType('appendblob') }, createAppendBlob),
  routeTo('PutBlob', { methods: ['PUT'], ...blob, when: hasType('pageblob') }, createPageBlob),
  routeTo('PutBlob', { methods: ['PUT'], ...blob }, putBlob),
  routeTo('PutBlock', { methods: ['PUT'], ...blob, comp: 'block' }, putBlock),
  routeTo('PutBlockList', { methods: ['PUT'], ...blob, comp: 'blocklist' }, putBlockList),
  routeTo('GetBlockList', { methods: ['GET'], ...blob, comp: 'blocklist' }, getBlockList),
  routeTo(
    'AppendBlock',
    { methods: ['PUT'], ...blob, comp: 'appendblock', since: '2015-02-21' },
    appendBlock,
  ),
  routeTo(
    'AppendBlobSeal',
    { methods: ['PUT'], ...blob, comp: 'seal', since: '2019-12-12' },
    sealAppendBlob,
  ),
  routeTo('ClearPage', { methods: ['PUT'], ...page, when: clearsPages }, putPage),
  routeTo('PutPage', { methods: ['PUT'], ...page }, putPage),
  routeTo('GetPageRanges', { methods: ['GET'], ...blob, comp: 'pagelist' }, getPageRanges),
  routeTo('SnapshotBlob', { methods: ['PUT'], ...blob, comp: 'snapshot' }, snapshotBlob),
  routeTo('DeleteBlob', { methods: ['DELETE'], ...blob, when: isPermanent }, deleteBlobPermanently),
  routeTo('DeleteBlob', { methods: ['DELETE'], ...blob, when: namesVersion }, deleteBlobVersion),
  routeTo('DeleteBlob', { methods: ['DELETE'], ...blob }, deleteBlob),
  routeTo('UndeleteBlob', { methods: ['PUT'], ...blob, comp: 'undelete' }, undeleteBlob),
  routeTo('GetBlobMetadata', { methods: reading, ...blob, comp: 'metadata' }, getBlobMetadata),
  routeTo('SetBlobMetadata', { methods: ['PUT'], ...blob, comp: 'metadata' }, setBlobMetadata),
  routeTo(
    'SetBlobProperties',
    { methods: ['PUT'], ...blob, comp: 'properties' },
    setBlobProperties,
  ),
  ...blobLeaseRoutes,
  routeTo('ListBlobs', { methods: ['GET'], ...container, comp: 'list' }, listBlobs),
  routeTo('GetBlobTags', { methods: ['GET'], ...tags }, getBlobTags),
  routeTo('SetBlobTags', { methods: ['PUT'], ...tags }, setBlobTags),
  routeTo('FindBlobsByTags', { methods: ['GET'], ...inAccount }, findBlobs),
  routeTo('FindBlobsByTags', { methods: ['GET'], ...inContainer }, findBlobsInContainer),
  routeTo('BlobBatch', { ...batchOf, resource: 'service' }, blobBatch),
  routeTo('BlobBatch', { ...container, ...batchOf }, blobBatch),
  // Clients that have the account in the path treat it as a container.
  routeTo('BlobBatch', { ...container, ...batchOf, resource: 'service' }, blobBatch),
  routeTo('SetBlobTier', { methods: ['PUT'], ...tier }, setBlobTier),
  routeTo('SetBlobImmutabilityPolicy', { methods: ['PUT'], ...policy }, setImmutabilityPolicy),
  routeTo(
    'DeleteBlobImmutabilityPolicy',
    { methods: ['DELETE'], ...policy },
    deleteImmutabilityPolicy,
  ),
  routeTo('SetBlobLegalHold', { methods: ['PUT'], ...hold }, setLegalHold),
  routeTo('GetContainerProperties', { methods: reading, ...container }, getContainerProperties),
  routeTo('CreateContainer', { methods: ['PUT'], ...container }, createContainer),
  routeTo('DeleteContainer', { methods: ['DELETE'], ...container }, deleteContainer),
  routeTo(
    'RestoreContainer',
    { methods: ['PUT'], ...container, comp: 'undelete', since: '2019-12-12' },
    restoreContainer,
  ),
  routeTo('GetContainerMetadata', { methods: reading, ...metadata }, getContainerMetadata),
  routeTo('SetContainerMetadata', { methods: ['PUT'], ...metadata }, setContainerMetadata),
  routeTo('GetContainerACL', { methods: reading, ...acl }, getContainerAcl),
  routeTo('SetContainerACL', { methods: ['PUT'], ...acl }, setContainerAcl),
  ...containerLeaseRoutes,
  routeTo(
    'ListContainers',
    { methods: ['GET'], resource: 'service', comp: 'list' },
    listContainers,
  ),
  routeTo('GetAccountInformation', information, getAccountInformation),
  routeTo('GetBlobServiceProperties', { methods: ['GET'], ...properties }, getServiceProperties),
  routeTo('SetBlobServiceProperties', { methods: ['PUT'], ...properties }, setProperties),
  routeTo('GetBlobServiceStats', { methods: ['GET'], ...stats }, getServiceStats),
  routeTo('GetUserDelegationKey', { methods: ['POST'], ...delegationKey }, getDelegationKey),
  ...absentRoutes,
  blobPreflight,
];

/** The operation names in records, each once; that of a website has no route of its own. */
export const blobOperationNames: readonly string[] = [
  ...new Set([...blobRoutes, websiteRoute].map(({ name }) => name)),
];

export const blobRouter = serviceRouter(blobRoutes);
