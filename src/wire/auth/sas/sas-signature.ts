import type { KeyObject } from 'node:crypto';
import { unreachable } from '../../../base/invariant.js';
import {
  authenticationFailed,
  signatureMismatch,
} from '../../../model/errors/authentication-failed.js';
import { signature, signatureMatches } from '../shared-key/hmac-signature.js';
import type { KeyHolder } from '../shared-key/shared-key.js';
import type {
  AccountSas,
  BlobSas,
  QueueSas,
  Sas,
  TableSas,
  UserDelegationBlobSas,
} from './fields.js';
import {
  sasStringToSign,
  type AnyUnsigned,
  type SignedAddress,
  type Unsigned,
} from './string-to-sign-sas.js';

/**
 * Checks that a key of the account made the signature; for a user delegation signature the keys are
 * the values of user delegation keys. Says nothing about time, protocol, address and permissions.
 *
 * @param address what the URL names; of no account for tables
 * @throws {StorageError} `AuthenticationFailed` when the URL does not name what the signature is
 * for, and with the text that was expected to be signed
 */
export function verifySasSignature(
  sas: Sas,
  account: KeyHolder,
  address: SignedAddress | undefined,
): void {
  const missing = missingTarget(sas, address);
  if (missing !== undefined) {
    throw authenticationFailed(`The signature is for ${missing}; the request addresses none.`);
  }
  const text = sasStringToSign(sas, account.name, address);
  if (!signatureMatches(account.keys, text, sas.signature)) {
    throw signatureMismatch(sas.signature, text);
  }
}

/** The part of the target that the URL must name and does not; undefined when it does. */
function missingTarget(sas: Sas, address: SignedAddress | undefined): string | undefined {
  switch (sas.kind) {
    case 'table-sas':
    case 'account-sas':
      return undefined;
    case 'queue-sas':
    case 'user-delegation-queue-sas':
      return address === undefined ? 'a queue' : undefined;
    case 'blob-sas':
    case 'user-delegation-blob-sas':
      if (address === undefined) return 'a container';
      if (!needsBlob(sas)) return undefined;
      // With a line break, a name could imitate other fields in the signed text.
      return address.blob?.includes('\n') === false ? undefined : 'a blob whose name is one line';
    default:
      return unreachable(sas);
  }
}

/** The root directory is the container. */
function needsBlob({ resource, directoryDepth }: BlobSas | UserDelegationBlobSas): boolean {
  return resource !== 'c' && !(resource === 'd' && directoryDepth === 0);
}

/** The key holder who signs. */
export interface SasSigner {
  readonly name: string;
  readonly key: KeyObject;
}

/** The fields to sign; the function that signs them determines the kind. */
type Signable<T extends Sas> = Omit<Unsigned<T>, 'kind'>;

/** The query string of a signature for a table, its fields in the order of the official clients. */
export function signTableSas(fields: Signable<TableSas>, signer: SasSigner): string {
  const sas = { ...fields, kind: 'table-sas' } as const;
  return queryString([
    ...serviceFieldsOf(sas, signed(sas, signer)),
    ['tn', sas.table],
    ['srk', sas.startRowKey],
    ['spk', sas.startPartitionKey],
    ['epk', sas.endPartitionKey],
    ['erk', sas.endRowKey],
  ]);
}

/** The query string of a signature for a queue, its fields in the order of the official clients. */
export function signQueueSas(fields: Signable<QueueSas>, queue: string, signer: SasSigner): string {
  const sas = { ...fields, kind: 'queue-sas' } as const;
  return queryString(serviceFieldsOf(sas, signed(sas, signer, { container: queue })));
}

/**
 * The query string of a signature for a container or a blob, its fields in the order of the
 * official clients. Beside it stands the `snapshot` or `versionid` that it is for.
 */
export function signBlobSas(
  fields: Signable<BlobSas>,
  address: SignedAddress,
  signer: SasSigner,
): string {
  const sas = { ...fields, kind: 'blob-sas' } as const;
  const { cacheControl, contentDisposition, contentEncoding } = sas.responseHeaders;
  const { contentLanguage, contentType } = sas.responseHeaders;
  return queryString([
    ...termsOf(sas),
    ['ses', sas.encryptionScope],
    ['sr', sas.resource],
    ['sdd', sas.directoryDepth === undefined ? undefined : String(sas.directoryDepth)],
    ['sp', sas.permissions],
    ['sig', signed(sas, signer, address)],
    ['rscc', cacheControl],
    ['rscd', contentDisposition],
    ['rsce', contentEncoding],
    ['rscl', contentLanguage],
    ['rsct', contentType],
  ]);
}

/** The query string of a signature for an account, its fields in the order of the clients. */
export function signAccountSas(fields: Signable<AccountSas>, signer: SasSigner): string {
  const sas = { ...fields, kind: 'account-sas' } as const;
  return queryString([
    ['sv', sas.version],
    ['ss', sas.services],
    ['srt', sas.resourceTypes],
    ['spr', sas.protocol],
    ['st', sas.start],
    ['se', sas.expiry],
    ['sip', sas.ip],
    ['ses', sas.encryptionScope],
    ['sp', sas.permissions],
    ['sig', signed(sas, signer)],
  ]);
}

function signed(sas: AnyUnsigned, { name, key }: SasSigner, address?: SignedAddress): string {
  return signature(key, sasStringToSign(sas, name, address));
}

type Parameter = readonly [name: string, value: string | undefined];

function serviceFieldsOf(
  sas: Unsigned<TableSas> | Unsigned<QueueSas>,
  sig: string,
): readonly Parameter[] {
  return [...termsOf(sas), ['sp', sas.permissions], ['sig', sig]];
}

function termsOf(
  sas: Unsigned<TableSas> | Unsigned<QueueSas> | Unsigned<BlobSas>,
): readonly Parameter[] {
  return [
    ['sv', sas.version],
    ['spr', sas.protocol],
    ['st', sas.start],
    ['se', sas.expiry],
    ['sip', sas.ip],
    ['si', sas.identifier],
  ];
}

function queryString(parameters: readonly Parameter[]): string {
  const parts: string[] = [];
  for (const [name, value = ''] of parameters) {
    if (value !== '') parts.push(`${name}=${encodeURIComponent(value)}`);
  }
  return parts.join('&');
}
