import { storageXml, type ErrorDefinition } from './definition.js';

/**
 * The codes that blobs alone have (blob-service §20). Members of the registry, which is where codes
 * are looked up.
 */
export const blobErrors = {
  AccessTierNotSupportedForBlobType: storageXml(
    400,
    'The access tier is not supported for this blob type.',
  ),
  AllBatchSubRequestsShouldBeSameApi: storageXml(
    400,
    'All batch subrequests should be the same api.',
  ),
  AppendPositionConditionNotMet: storageXml(
    412,
    'The append position condition specified was not met.',
  ),
  BlobAlreadyExists: storageXml(409, 'The specified blob already exists.'),
  BlobArchived: storageXml(409, 'This operation is not permitted on an archived blob.'),
  BlobBeingRehydrated: storageXml(
    409,
    'This operation is not permitted because the blob is being rehydrated.',
  ),
  BlobImmutableDueToLegalHold: storageXml(
    409,
    'This operation is not permitted as the blob is immutable due to one or more legal holds.',
  ),
  BlobImmutableDueToPolicy: storageXml(
    409,
    'This operation is not permitted as the blob is immutable due to a policy.',
  ),
  BlobIsSealed: storageXml(
    409,
    "The specified blob is sealed and its contents can't be modified unless the blob is re-created after a delete.",
  ),
  BlobNotArchived: storageXml(409, 'The blob is not currently in the archive tier.'),
  BlobNotFound: storageXml(404, 'The specified blob does not exist.'),
  BlobOverwritten: storageXml(
    409,
    'The blob has been recreated since the previous snapshot was taken.',
  ),
  BlobSnapshotNotSoftDeleted: storageXml(409, 'The blob snapshot has not been soft deleted.'),
  BlobTierInadequateForContentLength: storageXml(
    409,
    'Specified blob tier size limit cannot be less than content length.',
  ),
  BlobUsesCustomerSpecifiedEncryption: storageXml(
    409,
    'The blob is encrypted with customer specified encryption, but it was not provided in the request.',
  ),
  BlockCountExceedsLimit: storageXml(
    409,
    'The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.',
  ),
  BlockListTooLong: storageXml(400, 'The block list may not contain more than 50,000 blocks.'),
  BothCrc64AndMd5HeaderPresent: storageXml(
    400,
    'Both x-ms-content-crc64 header and Content-MD5 header are present. Send one of them.',
  ),
  BothUserTagsAndSourceTagsCopyPresentException: storageXml(
    400,
    'x-ms-tags cannot be given when x-ms-copy-source-tag-option is COPY. Leave out one of them.',
  ),
  CannotChangeToLowerTier: storageXml(409, 'A higher blob tier has already been explicitly set.'),
  CannotVerifyCopySource: storageXml(500, 'Could not verify the copy source.'),
  ConditionHeadersNotSupported: storageXml(400, 'Condition headers are not supported.'),
  ConditionNotMet: storageXml(
    412,
    'The condition specified using HTTP conditional header(s) is not met.',
  ),
  ContainerAlreadyExists: storageXml(409, 'The specified container already exists.'),
  ContainerBeingDeleted: storageXml(
    409,
    'The specified container is being deleted. Try operation later.',
  ),
  ContainerDisabled: storageXml(
    409,
    'The specified container has been disabled by the administrator.',
  ),
  ContainerImmutableStorageWithVersioningEnabled: storageXml(
    409,
    'The requested operation is not allowed as the container has a immutable storage with versioning enabled.',
  ),
  ContainerNotFound: storageXml(404, 'The specified container does not exist.'),
  ContentLengthLargerThanTierLimit: storageXml(
    409,
    "The blob's content length cannot exceed its tier limit.",
  ),
  CopyAcrossAccountsNotSupported: storageXml(
    400,
    'The copy source account and destination account must be the same.',
  ),
  CopyIdMismatch: storageXml(
    409,
    'The specified copy ID did not match the copy ID for the pending copy operation.',
  ),
  Crc64Mismatch: storageXml(
    400,
    'The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.',
  ),
  DuplicateTagNames: storageXml(400, 'The tags specified contain duplicate names.'),
  EmptyTagName: storageXml(400, 'The name of one of the tag key-value pairs is empty.'),
  ExceedsMaxBatchRequestCount: storageXml(
    400,
    'The batch operation exceeds the maximum number of allowed sub-requests, which is 256.',
  ),
  FeatureVersionMismatch: storageXml(
    409,
    'The operation is not supported in the version of the request. Use a newer x-ms-version.',
  ),
  ImmutabilityPolicyDeleteOnLockedPolicy: storageXml(
    409,
    'A locked immutability policy cannot be deleted.',
  ),
  IncrementalCopyBlobMismatch: storageXml(
    409,
    'The specified source blob is different than the copy source of the existing incremental copy blob.',
  ),
  IncrementalCopyOfEralierVersionSnapshotNotAllowed: storageXml(
    409,
    'The specified snapshot is earlier than the last snapshot copied into the incremental copy blob.',
  ),
  IncrementalCopySourceMustBeSnapshot: storageXml(
    409,
    'The source for incremental copy request must be a snapshot.',
  ),
  InfiniteLeaseDurationRequired: storageXml(
    412,
    'The lease ID matched, but the specified lease must be an infinite-duration lease.',
  ),
  InvalidBlobOrBlock: storageXml(400, 'The specified blob or block content is invalid.'),
  InvalidBlobTier: storageXml(400, 'The specified blob tier is invalid.'),
  InvalidBlobType: storageXml(409, 'The blob type is invalid for this operation.'),
  InvalidBlockId: storageXml(
    400,
    'The specified block ID is invalid. The block ID must be Base64-encoded.',
  ),
  InvalidBlockList: storageXml(400, 'The specified block list is invalid.'),
  InvalidHttpVerb: storageXml(400, 'The HTTP verb specified was not recognized by the server.'),
  InvalidOperation: storageXml(
    400,
    'The operation is not valid for the resource. Name the blob itself.',
  ),
  InvalidPageRange: storageXml(416, 'The page range specified is invalid.'),
  InvalidRange: storageXml(
    416,
    'The range specified is invalid for the current size of the resource.',
  ),
  InvalidSourceBlobType: storageXml(
    409,
    'The copy source blob type is invalid for this operation.',
  ),
  InvalidSourceBlobUrl: storageXml(
    409,
    'The source URL for incremental copy request must be valid Azure Storage blob URL.',
  ),
  InvalidTag: storageXml(
    400,
    'The tags specified are invalid. It contains characters that are not permitted.',
  ),
  InvalidVersionForPageBlobOperation: storageXml(
    400,
    'The version of the request does not support page blobs. Use 2009-09-19 or later.',
  ),
  LeaseAlreadyBroken: storageXml(
    409,
    'The lease has already been broken and cannot be broken again.',
  ),
  LeaseAlreadyPresent: storageXml(409, 'There is already a lease present.'),
  LeaseIdMismatchWithBlobOperation: storageXml(
    412,
    'The lease ID specified did not match the lease ID for the blob.',
  ),
  LeaseIdMismatchWithContainerOperation: storageXml(
    412,
    'The lease ID specified did not match the lease ID for the container.',
  ),
  LeaseIdMismatchWithLeaseOperation: storageXml(
    409,
    'The lease ID specified did not match the lease ID for the blob/container.',
  ),
  LeaseIdMissing: storageXml(
    412,
    'There is currently a lease on the blob/container and no lease ID was specified in the request.',
  ),
  LeaseIsBreakingAndCannotBeAcquired: storageXml(
    409,
    'The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.',
  ),
  LeaseIsBreakingAndCannotBeChanged: storageXml(
    409,
    'The lease ID matched, but the lease is currently in breaking state and cannot be changed.',
  ),
  LeaseIsBrokenAndCannotBeRenewed: storageXml(
    409,
    'The lease ID matched, but the lease has been broken explicitly and cannot be renewed.',
  ),
  LeaseLost: storageXml(
    412,
    'A lease ID was specified, but the lease for the blob/container has expired.',
  ),
  LeaseNotPresentWithBlobOperation: storageXml(412, 'There is currently no lease on the blob.'),
  LeaseNotPresentWithContainerOperation: storageXml(
    412,
    'There is currently no lease on the container.',
  ),
  LeaseNotPresentWithLeaseOperation: storageXml(
    409,
    'There is currently no lease on the blob/container.',
  ),
  MaxBlobSizeConditionNotMet: storageXml(412, 'The max blob size condition specified was not met.'),
  MultipleConditionHeadersNotSupported: storageXml(
    400,
    'Multiple condition headers are not supported.',
  ),
  NoPendingCopyOperation: storageXml(409, 'There is currently no pending copy operation.'),
  OperationNotAllowedOnIncrementalCopyBlob: storageXml(
    409,
    'The specified operation is not allowed on an incremental copy blob.',
  ),
  OperationNotAllowedOnRootBlob: storageXml(
    403,
    'The specified operation is not allowed on the current version of a blob.',
  ),
  PendingCopyOperation: storageXml(409, 'There is currently a pending copy operation.'),
  PreviousSnapshotCannotBeNewer: storageXml(
    400,
    'The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.',
  ),
  PreviousSnapshotNotFound: storageXml(409, 'The previous snapshot is not found.'),
  PreviousSnapshotOperationNotSupported: storageXml(
    409,
    'Differential Get Page Ranges is not supported on the previous snapshot.',
  ),
  PublicAccessNotPermitted: storageXml(
    409,
    'Public access is not permitted on this storage account.',
  ),
  ResourceAlreadyExists: storageXml(409, 'The specified resource already exists.'),
  ResourceTypeMismatch: storageXml(
    409,
    'The specified resource type does not match the type of the existing resource.',
  ),
  SequenceNumberConditionNotMet: storageXml(
    412,
    'The sequence number condition specified was not met.',
  ),
  SequenceNumberIncrementTooLarge: storageXml(
    409,
    'The sequence number increment cannot be performed because it would result in overflow of the sequence number.',
  ),
  SnapshotCountExceeded: storageXml(
    409,
    'The snapshot count against this blob has been exceeded. Delete a snapshot first.',
  ),
  SnapshotOperationRateExceeded: storageXml(
    409,
    'The rate of snapshot calls has been exceeded. Take the snapshot later.',
  ),
  SnapshotsPresent: storageXml(
    409,
    'This operation is not permitted because the blob has snapshots.',
  ),
  SourceConditionNotMet: storageXml(
    412,
    'The source condition specified using HTTP conditional header(s) is not met.',
  ),
  SystemInUse: storageXml(409, 'This blob is in use by the system.'),
  TagsTooLarge: storageXml(400, 'The tags specified exceed the maximum permissible limit.'),
  TargetConditionNotMet: storageXml(
    412,
    'The target condition specified using HTTP conditional header(s) is not met.',
  ),
  UnauthorizedBlobOverwrite: storageXml(
    403,
    'This request is not authorized to perform blob overwrites.',
  ),
  UnsatisfiableCondition: storageXml(
    400,
    'The request includes an unsatisfiable condition for this operation.',
  ),
  WebContentNotFound: storageXml(404, 'The requested content does not exist.'),
} satisfies Record<string, ErrorDefinition>;
