import { unreachable } from '../../../base/invariant.js';
import type { ServiceName } from '../../../model/services/services.js';
import { sasVersions, type AccountSas, type QueueSas, type Sas, type TableSas } from './fields.js';
import type { UserDelegationQueueSas } from './fields.js';

/** A signature without its `sig` field. */
export type Unsigned<T extends Sas> = Omit<T, 'signature'>;

/**
 * The text that a shared access signature signs, in the layout of its `sv` (table-service §8.3 and
 * §8.4, queue-service §4.3 to §4.5).
 *
 * @param queue the queue that the URL names, for signatures for one queue
 */
export function sasStringToSign(
  sas:
    | Unsigned<TableSas>
    | Unsigned<QueueSas>
    | Unsigned<UserDelegationQueueSas>
    | Unsigned<AccountSas>,
  account: string,
  queue: string | undefined,
): string {
  switch (sas.kind) {
    case 'table-sas':
      return tableText(sas, account);
    case 'queue-sas':
      return lines(serviceLines(sas, sasResource('queue', account, queue ?? '', sas.version)));
    case 'user-delegation-queue-sas':
      return userDelegationText(sas, sasResource('queue', account, queue ?? '', sas.version));
    case 'account-sas':
      return accountText(sas, account);
    default:
      return unreachable(sas);
  }
}

/** The resource as it is signed, in host and in path style alike: the account once. */
function sasResource(service: ServiceName, account: string, name: string, version: string): string {
  const path = `/${account}/${name}`;
  return version >= sasVersions.resourcePrefix ? `/${service}${path}` : path;
}

type Line = string | undefined;

function lines(texts: readonly Line[]): string {
  return texts.map((text = '') => text).join('\n');
}

function tableText(sas: Unsigned<TableSas>, account: string): string {
  const resource = sasResource('table', account, sas.table.toLowerCase(), sas.version);
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = sas;
  const range = [startPartitionKey, startRowKey, endPartitionKey, endRowKey];
  return lines([...serviceLines(sas, resource), ...range]);
}

function serviceLines(sas: Unsigned<TableSas> | Unsigned<QueueSas>, resource: string): Line[] {
  const { permissions, start, expiry, identifier, ip, protocol, version } = sas;
  const terms = version >= sasVersions.account ? [ip, protocol] : [];
  return [permissions, start, expiry, resource, identifier, ...terms, version];
}

function userDelegationText(sas: Unsigned<UserDelegationQueueSas>, resource: string): string {
  const { delegationKey: key } = sas;
  return lines([
    sas.permissions,
    sas.start,
    sas.expiry,
    resource,
    key.objectId,
    key.tenantId,
    key.start,
    key.expiry,
    key.service,
    key.version,
    key.delegatedTenantId,
    sas.delegatedUserObjectId,
    sas.ip,
    sas.protocol,
    sas.version,
  ]);
}

/** Every line ends with a line break, including the last. */
function accountText(sas: Unsigned<AccountSas>, account: string): string {
  const { permissions, services, resourceTypes, start, expiry, ip, protocol, version } = sas;
  const scope = version >= sasVersions.encryptionScope ? [sas.encryptionScope] : [];
  const terms = [start, expiry, ip, protocol, version];
  return lines([account, permissions, services, resourceTypes, ...terms, ...scope, '']);
}
