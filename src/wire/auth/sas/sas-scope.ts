import { unreachable } from '../../../base/invariant.js';
import type { EntityRange } from '../../../model/edm/entity-range.js';
import type {
  AccountSas,
  BlobSas,
  QueueSas,
  Sas,
  SasResponseHeaders,
  TableSas,
  UserDelegationBlobSas,
  UserDelegationQueueSas,
} from './fields.js';

/** The bounds of a signature within its container, and its changes to answers. */
export interface SasBounds {
  /** Absent: the whole container. */
  readonly range?: EntityRange;
  /** The signature is for one object, which the request addresses. Absent: for the container. */
  readonly isForObject?: true;
  /** Headers of the answer to a read, in place of those of the object. */
  readonly responseHeaders?: SasResponseHeaders;
}

/** A signature by a key of the account, for one container or an object in it. */
export type ServiceSas = TableSas | QueueSas | BlobSas;

/** A signature by a user delegation key. */
export type UserDelegationSas = UserDelegationQueueSas | UserDelegationBlobSas;

/** The target of a signature, in the same form for all services. */
export type SasScope =
  | { readonly kind: 'account'; readonly sas: AccountSas }
  | {
      readonly kind: 'service';
      readonly sas: ServiceSas;
      /** The container that the signature names; undefined: the one that the URL names. */
      readonly container: string | undefined;
      readonly bounds: SasBounds;
    }
  | {
      readonly kind: 'user-delegation';
      readonly sas: UserDelegationSas;
      readonly bounds: SasBounds;
    };

/** Translates each kind of signature into a scope. The only place that does. */
export function sasScope(sas: Sas): SasScope {
  switch (sas.kind) {
    case 'account-sas':
      return { kind: 'account', sas };
    case 'table-sas':
      return { kind: 'service', sas, container: sas.table, bounds: tableBounds(sas) };
    case 'queue-sas':
      return { kind: 'service', sas, container: undefined, bounds: {} };
    case 'blob-sas':
      return { kind: 'service', sas, container: undefined, bounds: blobBounds(sas) };
    case 'user-delegation-queue-sas':
      return { kind: 'user-delegation', sas, bounds: {} };
    case 'user-delegation-blob-sas':
      return { kind: 'user-delegation', sas, bounds: blobBounds(sas) };
    default:
      return unreachable(sas);
  }
}

function tableBounds(sas: TableSas): SasBounds {
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = sas;
  if (startPartitionKey === undefined && endPartitionKey === undefined) return {};
  const range = {
    ...(startPartitionKey === undefined ? {} : { startPartitionKey }),
    ...(startRowKey === undefined ? {} : { startRowKey }),
    ...(endPartitionKey === undefined ? {} : { endPartitionKey }),
    ...(endRowKey === undefined ? {} : { endRowKey }),
  };
  return { range };
}

function blobBounds({ resource, responseHeaders }: BlobSas | UserDelegationBlobSas): SasBounds {
  return resource === 'c' ? { responseHeaders } : { responseHeaders, isForObject: true };
}
