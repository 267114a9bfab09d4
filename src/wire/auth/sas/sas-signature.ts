import type { KeyObject } from 'node:crypto';
import {
  authenticationFailed,
  signatureMismatch,
} from '../../../model/errors/authentication-failed.js';
import { signature, signatureMatches } from '../shared-key/hmac-signature.js';
import type { KeyHolder } from '../shared-key/shared-key.js';
import type { AccountSas, QueueSas, Sas, TableSas } from './fields.js';
import { sasStringToSign, type Unsigned } from './string-to-sign-sas.js';

/**
 * Checks that a key of the account made the signature; for a user delegation signature the keys are
 * the values of user delegation keys. Says nothing about time, protocol, address and permissions.
 *
 * @param queue the queue that the URL names, decoded; of no account for tables
 * @throws {StorageError} `AuthenticationFailed` with the text that was expected to be signed
 */
export function verifySasSignature(sas: Sas, account: KeyHolder, queue: string | undefined): void {
  const isForQueue = sas.kind === 'queue-sas' || sas.kind === 'user-delegation-queue-sas';
  if (isForQueue && queue === undefined) {
    throw authenticationFailed('The signature is for a queue; the request addresses none.');
  }
  const text = sasStringToSign(sas, account.name, queue);
  if (!signatureMatches(account.keys, text, sas.signature)) {
    throw signatureMismatch(sas.signature, text);
  }
}

/** The key holder who signs. */
export interface SasSigner {
  readonly name: string;
  readonly key: KeyObject;
}

/** The query string of a signature for a table, its fields in the order of the official clients. */
export function signTableSas(sas: Unsigned<TableSas>, signer: SasSigner): string {
  return queryString([
    ...serviceFieldsOf(sas, signed(sas, signer, undefined)),
    ['tn', sas.table],
    ['srk', sas.startRowKey],
    ['spk', sas.startPartitionKey],
    ['epk', sas.endPartitionKey],
    ['erk', sas.endRowKey],
  ]);
}

/** The query string of a signature for a queue, its fields in the order of the official clients. */
export function signQueueSas(sas: Unsigned<QueueSas>, queue: string, signer: SasSigner): string {
  return queryString(serviceFieldsOf(sas, signed(sas, signer, queue)));
}

/** The query string of a signature for an account, its fields in the order of the clients. */
export function signAccountSas(sas: Unsigned<AccountSas>, signer: SasSigner): string {
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
    ['sig', signed(sas, signer, undefined)],
  ]);
}

function signed(
  sas: Unsigned<TableSas> | Unsigned<QueueSas> | Unsigned<AccountSas>,
  { name, key }: SasSigner,
  queue: string | undefined,
): string {
  return signature(key, sasStringToSign(sas, name, queue));
}

type Parameter = readonly [name: string, value: string | undefined];

function serviceFieldsOf(
  sas: Unsigned<TableSas> | Unsigned<QueueSas>,
  sig: string,
): readonly Parameter[] {
  return [
    ['sv', sas.version],
    ['spr', sas.protocol],
    ['st', sas.start],
    ['se', sas.expiry],
    ['sip', sas.ip],
    ['si', sas.identifier],
    ['sp', sas.permissions],
    ['sig', sig],
  ];
}

function queryString(parameters: readonly Parameter[]): string {
  const parts: string[] = [];
  for (const [name, value = ''] of parameters) {
    if (value !== '') parts.push(`${name}=${encodeURIComponent(value)}`);
  }
  return parts.join('&');
}
