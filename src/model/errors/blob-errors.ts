import { StorageError, type ErrorDetail } from './storage-error.js';

// Errors of blobs whose status or whose extra elements depend on the case (blob-service §3.4).

/**
 * A read whose result the client has already: 304 (blob-service §9.2). `modifiedMicros`: when that
 * result was last modified, in microseconds since 1970.
 */
export function notModified(modifiedMicros: number): StorageError {
  return new StorageError('ConditionNotMet', { status: 304, modifiedMicros });
}

/** A range that begins behind the last of `lengthBytes` bytes (blob-service §11.2). */
export function invalidRange(lengthBytes: number): StorageError {
  return new StorageError('InvalidRange', { lengthBytes });
}

/** `claimed`: the text of the header; `actual`: the base64 form of what was received. */
export function md5Mismatch(claimed: string, actual: string): StorageError {
  return new StorageError('Md5Mismatch', {
    details: [
      ['UserSpecifiedMd5', claimed],
      ['ServerCalculatedMd5', actual],
    ],
  });
}

/** `claimed`: the text of the header; `actual`: the base64 form of what was received. */
export function crc64Mismatch(claimed: string, actual: string): StorageError {
  return new StorageError('Crc64Mismatch', {
    details: [
      ['UserSpecifiedCrc', claimed],
      ['ServerCalculatedCrc', actual],
    ],
  });
}

/** The answer of the source of a copy when it sends no content. */
export interface CopySourceFailure {
  readonly status: number;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * The source of a copy cannot be read. `failure`: its answer, whose status the error gets;
 * undefined when there was no answer, which gives status 500 (blob-service §17.1, §20.1).
 */
export function cannotVerifyCopySource(failure?: CopySourceFailure, cause?: unknown): StorageError {
  if (failure === undefined) return new StorageError('CannotVerifyCopySource');
  const { status, code, message } = failure;
  const details: ErrorDetail[] = [['CopySourceStatusCode', String(status)]];
  if (code !== undefined) details.push(['CopySourceErrorCode', code]);
  if (message !== undefined) details.push(['CopySourceErrorMessage', message]);
  return new StorageError('CannotVerifyCopySource', { status, details, cause });
}
