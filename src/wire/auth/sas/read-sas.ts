import { decodeOnce } from '../../http/percent.js';
import { authenticationFailed } from '../../../model/errors/authentication-failed.js';
import { scopeLetters } from '../../../model/services/permission.js';
import {
  accountServiceLetters,
  services,
  type ServiceName,
} from '../../../model/services/services.js';
import {
  sasIdentifierLengthMax,
  sasVersions,
  type AccountSas,
  type BlobSas,
  type BlobSasResource,
  type QueueSas,
  type Sas,
  type SasFields,
  type SasResponseHeaders,
  type TableSas,
  type UserDelegationBlobSas,
  type UserDelegationKeyFields,
  type UserDelegationQueueSas,
} from './fields.js';
import { checkSasTerms } from './terms.js';

/**
 * Parses the shared access signature in a query string; undefined when there is none, that is, no
 * `sig`. Its fields are complete and well formed, but not yet verified. Tables spell the names of
 * fields in lower case, queues and blobs in any (table-service §8.3 and §8.4, queue-service §4.3 to
 * §4.5, blob-service §4.3 to §4.5).
 *
 * @param rawQuery the query string as sent, without its question mark
 * @throws {StorageError} `AuthenticationFailed` with a detail that names the field: it is missing,
 * there twice, malformed, or of no effect with this `sv`, so that the limit it means would not
 * hold; `InvalidInput` for malformed percent encoding
 */
export function readSas(rawQuery: string, service: ServiceName): Sas | undefined {
  if (!/sig/i.test(rawQuery) && !rawQuery.includes('%')) return undefined;
  const parameters = readParameters(rawQuery, service);
  if (!parameters.has('sig')) return undefined;
  const sas = sasOf(parameters, service);
  checkSasTerms(sas);
  return sas;
}

type Parameters = ReadonlyMap<string, string>;

const commonNames = ['sv', 'sp', 'st', 'se', 'sip', 'spr', 'sig'];
const accountNames = ['ss', 'srt', 'ses'];
const delegationNames = ['skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'skdutid', 'sduoid'];
const tableNames = ['tn', 'spk', 'srk', 'epk', 'erk'];
const responseHeaderNames = ['rscc', 'rscd', 'rsce', 'rscl', 'rsct'];
const agentNames = ['saoid', 'suoid', 'scid'];
const signedRequestNames = ['srh', 'srq'];
const blobNames = ['sr', 'sdd', 'snapshot', 'versionid', ...responseHeaderNames];

/** The signature fields that a service accepts. */
interface SasLayout {
  readonly names: ReadonlySet<string>;
  /** True when field names are matched without case. */
  readonly ignoresCase: boolean;
  /** Reads a signature for a single container. */
  readonly ofContainer: (parameters: Parameters) => Sas;
}

const layouts: Readonly<Record<ServiceName, SasLayout>> = {
  table: {
    names: new Set([...commonNames, 'si', ...accountNames, ...tableNames]),
    ignoresCase: false,
    ofContainer: tableSas,
  },
  queue: {
    names: new Set([...commonNames, 'si', ...accountNames, 'sr', ...delegationNames]),
    ignoresCase: true,
    ofContainer: anyQueueSas,
  },
  blob: {
    names: new Set([
      ...commonNames,
      'si',
      ...accountNames,
      ...blobNames,
      ...delegationNames,
      ...agentNames,
      ...signedRequestNames,
    ]),
    ignoresCase: true,
    ofContainer: anyBlobSas,
  },
};

/** The non-empty fields, and `sig` even when empty. */
function readParameters(rawQuery: string, service: ServiceName): Parameters {
  const found = new Map<string, string>();
  const twice = new Set<string>();
  for (const part of rawQuery.split('&')) {
    const equals = part.indexOf('=');
    const name = nameOf(equals < 0 ? part : part.slice(0, equals), service);
    if (!layouts[service].names.has(name)) continue;
    if (found.has(name)) twice.add(name);
    found.set(name, equals < 0 ? '' : valueOf(name, part.slice(equals + 1)));
  }
  if (found.has('sig')) checkTexts(found, twice);
  for (const [name, value] of found) if (value === '' && name !== 'sig') found.delete(name);
  return found;
}

function nameOf(raw: string, service: ServiceName): string {
  const name = decodeOnce(raw);
  return layouts[service].ignoresCase ? name.toLowerCase() : name;
}

/** Base64 contains plus signs and no spaces; in other fields a plus sign means a space. */
function valueOf(name: string, raw: string): string {
  return decodeOnce(name === 'sig' ? raw : raw.replaceAll('+', ' '));
}

/** Refuses line breaks: a field with one could imitate other fields in the signed text. */
function checkTexts(found: Parameters, twice: ReadonlySet<string>): void {
  for (const name of twice) {
    throw authenticationFailed(`The query string has ${name} twice; send it once.`);
  }
  for (const [name, value] of found) {
    if (value.includes('\n')) throw authenticationFailed(`${name} has a line break.`);
  }
}

function sasOf(parameters: Parameters, service: ServiceName): Sas {
  if (parameters.has('ss') || parameters.has('srt')) return accountSas(parameters);
  return layouts[service].ofContainer(parameters);
}

function anyQueueSas(parameters: Parameters): QueueSas | UserDelegationQueueSas {
  return delegationNames.some((name) => parameters.has(name))
    ? userDelegationQueueSas(parameters)
    : queueSas(parameters);
}

function tableSas(parameters: Parameters): TableSas {
  const table = required(
    parameters,
    'tn',
    'a signature for a table names it, one for an account has ss and srt',
  );
  checkNeeds(parameters, 'srk', 'spk');
  checkNeeds(parameters, 'erk', 'epk');
  return {
    kind: 'table-sas',
    ...serviceFields(parameters),
    table,
    startPartitionKey: parameters.get('spk'),
    startRowKey: parameters.get('srk'),
    endPartitionKey: parameters.get('epk'),
    endRowKey: parameters.get('erk'),
  };
}

function checkNeeds(parameters: Parameters, name: string, other: string): void {
  if (!parameters.has(name) || parameters.has(other)) return;
  throw authenticationFailed(`${name} needs ${other}: a RowKey bounds one partition.`);
}

function queueSas(parameters: Parameters): QueueSas {
  return { kind: 'queue-sas', ...serviceFields(parameters) };
}

/** Fields that a service signature omits must come from its stored policy. */
function serviceFields(parameters: Parameters): SasFields & Pick<QueueSas, 'identifier'> {
  const fields = commonFields(parameters, sasVersions.service);
  const identifier = parameters.get('si');
  if (identifier === undefined) {
    const reason = 'without si, no stored policy supplies it';
    required(parameters, 'se', reason);
    required(parameters, 'sp', reason);
  } else if (identifier.length > sasIdentifierLengthMax) {
    throw authenticationFailed(`si has more than ${sasIdentifierLengthMax} characters.`);
  }
  return { ...fields, identifier };
}

function userDelegationQueueSas(parameters: Parameters): UserDelegationQueueSas {
  const fields = commonFields(parameters, sasVersions.userDelegationQueue);
  const delegationKey = delegationKeyOf(parameters);
  // Not signed; several clients leave it out.
  const { letter } = services.queue.signature;
  if ((parameters.get('sr') ?? letter) !== letter) {
    throw authenticationFailed(`sr must be ${letter}, for a queue.`);
  }
  return {
    kind: 'user-delegation-queue-sas',
    ...fields,
    delegationKey,
    delegatedUserObjectId: parameters.get('sduoid'),
  };
}

const delegatedReason = 'a signature by a user delegation key has it';

/** Checks too that nothing stands in for fields which such a signature must have itself. */
function delegationKeyOf(parameters: Parameters): UserDelegationKeyFields {
  required(parameters, 'sp', delegatedReason);
  required(parameters, 'se', delegatedReason);
  refuse(parameters, ['si'], 'by a user delegation key');
  return {
    objectId: required(parameters, 'skoid', delegatedReason),
    tenantId: required(parameters, 'sktid', delegatedReason),
    start: required(parameters, 'skt', delegatedReason),
    expiry: required(parameters, 'ske', delegatedReason),
    service: required(parameters, 'sks', delegatedReason),
    version: required(parameters, 'skv', delegatedReason),
    delegatedTenantId: parameters.get('skdutid'),
  };
}

function anyBlobSas(parameters: Parameters): BlobSas | UserDelegationBlobSas {
  return delegationNames.some((name) => parameters.has(name))
    ? userDelegationBlobSas(parameters)
    : blobSas(parameters);
}

function blobSas(parameters: Parameters): BlobSas {
  const fields = serviceFields(parameters);
  refuse(parameters, [...agentNames, ...signedRequestNames], 'by the key of an account');
  return { kind: 'blob-sas', ...fields, ...blobFields(parameters, fields.version) };
}

function userDelegationBlobSas(parameters: Parameters): UserDelegationBlobSas {
  const fields = commonFields(parameters, sasVersions.blobResource);
  const { version } = fields;
  const delegationKey = delegationKeyOf(parameters);
  for (const name of signedRequestNames) {
    if (parameters.has(name)) {
      throw authenticationFailed(`${name}: signed headers and parameters are not accepted.`);
    }
  }
  checkSigned(parameters, agentNames, version, sasVersions.directory);
  checkSigned(parameters, ['skdutid', 'sduoid'], version, sasVersions.userDelegationQueue);
  return {
    kind: 'user-delegation-blob-sas',
    ...fields,
    ...blobFields(parameters, version),
    delegationKey,
    authorizedObjectId: parameters.get('saoid'),
    unauthorizedObjectId: parameters.get('suoid'),
    correlationId: parameters.get('scid'),
    delegatedUserObjectId: parameters.get('sduoid'),
  };
}

type BlobFields = Pick<
  BlobSas,
  'resource' | 'snapshotTime' | 'directoryDepth' | 'encryptionScope' | 'responseHeaders'
>;

function blobFields(parameters: Parameters, version: string): BlobFields {
  const resource = blobResourceOf(parameters, version);
  checkSigned(parameters, ['ses'], version, sasVersions.encryptionScope);
  checkSigned(parameters, responseHeaderNames, version, sasVersions.responseHeaders);
  return {
    resource,
    snapshotTime: snapshotTimeOf(parameters, resource),
    directoryDepth: directoryDepthOf(parameters, resource),
    encryptionScope: parameters.get('ses'),
    responseHeaders: responseHeadersOf(parameters),
  };
}

/** The first version that signs each kind of resource. */
const blobResourceVersions: Readonly<Record<BlobSasResource, string>> = {
  b: sasVersions.service,
  c: sasVersions.service,
  bs: sasVersions.blobResource,
  bv: sasVersions.blobResource,
  d: sasVersions.directory,
};

function blobResourceOf(parameters: Parameters, version: string): BlobSasResource {
  const text = required(parameters, 'sr', 'a signature for blobs says what it is for');
  if (!isBlobResource(text)) {
    const known = Object.keys(blobResourceVersions).join(', ');
    throw authenticationFailed(`sr is '${text}'; it must be one of ${known}.`);
  }
  const oldest = blobResourceVersions[text];
  if (version >= oldest) return text;
  throw authenticationFailed(`sr ${text} needs sv ${oldest} or later.`);
}

function isBlobResource(text: string): text is BlobSasResource {
  return Object.hasOwn(blobResourceVersions, text);
}

function snapshotTimeOf(parameters: Parameters, resource: BlobSasResource): string | undefined {
  switch (resource) {
    case 'bs':
      return required(parameters, 'snapshot', 'the signature is for a snapshot');
    case 'bv':
      return required(parameters, 'versionid', 'the signature is for a version');
    default:
      return undefined;
  }
}

function directoryDepthOf(parameters: Parameters, resource: BlobSasResource): number | undefined {
  if (resource !== 'd') {
    refuse(parameters, ['sdd'], 'for anything but a directory');
    return undefined;
  }
  const text = required(parameters, 'sdd', 'the signature is for a directory');
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw authenticationFailed(`sdd is '${text}'; it must be the number of segments of a path.`);
}

function responseHeadersOf(parameters: Parameters): SasResponseHeaders {
  return {
    cacheControl: parameters.get('rscc'),
    contentDisposition: parameters.get('rscd'),
    contentEncoding: parameters.get('rsce'),
    contentLanguage: parameters.get('rscl'),
    contentType: parameters.get('rsct'),
  };
}

function accountSas(parameters: Parameters): AccountSas {
  const fields = commonFields(parameters, sasVersions.account);
  const reason = 'a signature for an account has it';
  required(parameters, 'sp', reason);
  required(parameters, 'se', reason);
  refuse(parameters, ['si', ...tableNames], 'for an account');
  return {
    kind: 'account-sas',
    ...fields,
    services: lettersOf(parameters, 'ss', accountServiceLetters),
    resourceTypes: lettersOf(parameters, 'srt', Object.keys(scopeLetters).join('')),
    encryptionScope: parameters.get('ses'),
  };
}

function lettersOf(parameters: Parameters, name: string, allowed: string): string {
  const text = required(parameters, name, 'a signature for an account has ss and srt');
  if (Array.from(text).every((letter) => allowed.includes(letter))) return text;
  throw authenticationFailed(`${name} is '${text}'; its letters must be among ${allowed}.`);
}

/**
 * Refuses restrictive fields that are not signed in this version, because they would not be
 * enforced.
 */
function refuse(parameters: Parameters, names: readonly string[], what: string): void {
  for (const name of names) {
    if (parameters.has(name)) {
      throw authenticationFailed(`${name} has no meaning in a signature ${what}; leave it out.`);
    }
  }
}

function commonFields(parameters: Parameters, oldest: string): SasFields {
  const version = required(parameters, 'sv', 'it says how the rest is signed');
  checkVersion(version, oldest);
  checkSigned(parameters, ['sip', 'spr'], version, sasVersions.account);
  return {
    version,
    permissions: parameters.get('sp'),
    start: parameters.get('st'),
    expiry: parameters.get('se'),
    ip: parameters.get('sip'),
    protocol: parameters.get('spr'),
    signature: required(parameters, 'sig', 'it is empty'),
  };
}

/** Refuses unsigned fields, because any sender could have added them. */
function checkSigned(
  parameters: Parameters,
  names: readonly string[],
  version: string,
  oldest: string,
): void {
  if (version >= oldest) return;
  for (const name of names) {
    if (parameters.has(name)) {
      throw authenticationFailed(
        `${name} needs sv ${oldest} or later; sv ${version} does not sign it.`,
      );
    }
  }
}

function checkVersion(version: string, oldest: string): void {
  if (!/^\d{4}-\d\d-\d\d$/.test(version)) {
    throw authenticationFailed(`sv is '${version}'; it must be a version such as 2019-02-02.`);
  }
  if (version < oldest) {
    throw authenticationFailed(`sv is ${version}; signatures of this kind begin with ${oldest}.`);
  }
}

function required(parameters: Parameters, name: string, reason: string): string {
  const value = parameters.get(name);
  if (value !== undefined && value !== '') return value;
  throw authenticationFailed(`The signature lacks ${name}: ${reason}.`);
}
