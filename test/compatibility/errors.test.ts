import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { ErrorDefinition } from '../../src/model/errors/definition.js';
import { errorRegistry } from '../../src/model/errors/registry.js';
import { startWorld, type AnyService } from '../support/compatibility-world.js';
import { RawConnection } from '../support/raw-http.js';
import { startServer } from '../support/start-server.js';
import { insertOperation, sendChangeset } from '../wire/kit/batch.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { entityPath, WireClient } from '../wire/kit/client.js';
import { messageBody, messagePath } from '../wire/kit/queue-client.js';
import { readResponse, type WireResponse } from '../wire/kit/response.js';
import { accountSas, tableSas, withSas } from '../wire/kit/sas.js';
import type { WireRequest } from '../wire/kit/signing-client.js';
import { serverSources } from '../support/server-sources.js';

// docs/reference/errors.md: each code that the two services have is answered by a request here, is
// reserved, which means that nothing answers it, or is among those that are not there.

const page = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8');
const { server, tables, queues, services, table, queue } = await startWorld();
const [tableService, queueService] = services;
assert.ok(tableService !== undefined && queueService !== undefined);
const delayed = await startServer({ tableDeleteDelayMs: 60_000 });
const delayedTables = WireClient.of(delayed.server);
const blobs = BlobWireClient.of(server);
after(() => {
  delayedTables.close();
  blobs.close();
  return delayed[Symbol.asyncDispose]();
});

type Probe = () => Promise<WireResponse>;

const entity = entityPath(table, 'p', '1');
const rowOf = (members: string) => `{"PartitionKey":"e","RowKey":"1"${members && `,${members}`}}`;
const toTables = (request: WireRequest) => () => tables.send(request);
const toQueues = (request: WireRequest) => () => queues.send(request);
const inserting = (members: string) =>
  toTables({ method: 'POST', path: `/${table}`, body: rowOf(members) });
const creating = (name: string) =>
  toTables({ method: 'POST', path: '/Tables', body: JSON.stringify({ TableName: name }) });
const withHeader = (name: string, value: string | readonly string[] | undefined) =>
  toTables({ headers: { [name]: value } });
const tunnelling = (method: string, value: string | readonly string[]) =>
  toTables({ method, path: entity, body: '{}', headers: { 'X-HTTP-Method': value } });
const properties = '/?restype=service&comp=properties';
const setting = (children: string) =>
  toQueues({
    method: 'PUT',
    path: properties,
    body: `<StorageServiceProperties>${children}</StorageServiceProperties>`,
  });
const logging = (version: string, more = '') =>
  setting(
    `<Logging><Version>${version}</Version><Delete>true</Delete><Read>true</Read>${more}` +
      '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>',
  );
const md5 = (value: string) =>
  toQueues({
    method: 'POST',
    path: `/${queue}/messages`,
    body: messageBody('text'),
    headers: { 'Content-MD5': value },
  });
const metadata = (name: string, value = 'x') =>
  toQueues({
    method: 'PUT',
    path: `/${queue}?comp=metadata`,
    headers: { [`x-ms-meta-${name}`]: value },
  });
const asAccount = (fields: Parameters<typeof accountSas>[0]) =>
  toTables({
    path: withSas(entity, accountSas({ ss: 't', srt: 'o', sp: 'r', ...fields })),
    auth: 'none',
  });
const failing = (code: 'InternalError' | 'OperationTimedOut' | 'ServerBusy') => () => {
  server.faults.add({ operation: 'QueryTables', count: 1, effect: { kind: 'error', code } });
  return tables.send({});
};
const keys = { PartitionKey: 'e', RowKey: 'batch' };
const changeset = (...entities: readonly object[]) =>
  sendChangeset(
    tables,
    entities.map((each) => insertOperation(table, each)),
  );

/** The response to a request without one of its headers, on a new connection. */
async function without(service: AnyService, name: string): Promise<WireResponse> {
  using connection = new RawConnection(service.port);
  const headers = { [name]: undefined, Connection: 'close' };
  const { method = '', path = '' } = await service.write();
  connection.write(service.bytes({ method, path, headers }));
  const answer = readResponse(await connection.readToEnd(), { toHead: false, ended: true });
  assert.ok(answer !== undefined);
  return answer.response;
}

/** For every code that is not reserved, a request that gets it. */
const answeredBy: Readonly<Record<string, Probe>> = {
  AtomFormatNotSupported: withHeader('Accept', 'application/atom+xml'),
  AuthenticationFailed: withHeader('x-ms-date', 'Fri, 21 Nov 2014 10:00:00 GMT'),
  AuthorizationFailure: toTables({
    path: withSas(`/${table}?comp=acl`, tableSas({ tn: table, sp: 'raud' })),
    auth: 'none',
  }),
  AuthorizationPermissionMismatch: asAccount({ sp: 'a' }),
  AuthorizationProtocolMismatch: asAccount({ spr: 'https' }),
  AuthorizationResourceTypeMismatch: asAccount({ srt: 's' }),
  AuthorizationServiceMismatch: asAccount({ ss: 'q' }),
  AuthorizationSourceIPMismatch: asAccount({ sip: '10.0.0.1' }),
  CommandsInBatchActOnDifferentPartitions: () =>
    changeset(keys, { PartitionKey: 'other', RowKey: '1' }),
  CorsPreflightFailure: toTables({
    method: 'OPTIONS',
    auth: 'none',
    headers: { Origin: 'http://b.example', 'Access-Control-Request-Method': 'GET' },
  }),
  DuplicatePropertiesSpecified: inserting('"a":1,"a":2'),
  EmptyMetadataKey: metadata(''),
  EntityAlreadyExists: () => tables.insert(table, { PartitionKey: 'p', RowKey: '1' }),
  EntityTooLarge: inserting(
    Array.from({ length: 40 }, (_, index) => `"a${index}":"${'x'.repeat(30_000)}"`).join(','),
  ),
  HostInformationNotPresent: () => without(tableService, 'Host'),
  InsufficientAccountPermissions: toTables({
    method: 'DELETE',
    target: `/devstoreaccount1-secondary/Tables('${table}')`,
  }),
  InternalError: failing('InternalError'),
  InvalidAuthenticationInfo: withHeader('Authorization', 'nonsense'),
  InvalidDuplicateRow: () => changeset(keys, keys),
  InvalidHeaderValue: withHeader('x-ms-version', 'nonsense'),
  InvalidInput: inserting('"a":{}'),
  InvalidMarker: toQueues({ path: '/?comp=list&marker=nonsense' }),
  InvalidMd5: md5('nonsense'),
  InvalidMetadata: metadata('a-b'),
  InvalidQueryParameterValue: toTables({ path: '/Tables?timeout=soon' }),
  InvalidResourceName: creating('a-b-c'),
  InvalidUri: toQueues({ path: '/a/b/c' }),
  InvalidXmlDocument: toTables({ method: 'PUT', path: properties, body: 'no XML' }),
  InvalidXmlNodeValue: logging('9.9', '<Write>true</Write>'),
  JsonVerboseFormatNotSupported: withHeader('Accept', 'application/json;odata=verbose'),
  Md5Mismatch: md5('1B2M2Y8AsgTpgAmY7PhCfg=='),
  MediaTypeNotSupported: withHeader('Accept', 'text/html'),
  MessageNotFound: async () => {
    const name = await queues.newQueue();
    const message = await queues.put(name, 'text');
    await queues.delete(name, message);
    return queues.send({ method: 'DELETE', path: messagePath(name, message) });
  },
  MetadataTooLarge: metadata('a', 'x'.repeat(8_192)),
  MethodNotAllowed: toTables({ method: 'PUT', path: '/Tables', body: '{}' }),
  MissingContentLengthHeader: () => without(queueService, 'Content-Length'),
  MissingRequiredHeader: toTables({ method: 'DELETE', path: entity }),
  MissingRequiredQueryParameter: toQueues({ method: 'DELETE', path: `/${queue}/messages/1` }),
  MissingRequiredXmlNode: logging('1.0'),
  NoAuthenticationInformation: toQueues({ auth: 'none' }),
  NotImplemented: toTables({ path: `/${table}()?$skip=1` }),
  OperationTimedOut: failing('OperationTimedOut'),
  OutOfRangeInput: creating('ab'),
  OutOfRangeQueryParameterValue: toQueues({ path: '/?comp=list&maxresults=0' }),
  PropertiesNeedValue: () => tables.insert(table, '{"PartitionKey":"e"}'),
  PropertyNameInvalid: inserting('"a-b":1'),
  PropertyNameTooLong: inserting(`"${'a'.repeat(256)}":1`),
  PropertyValueTooLarge: inserting(`"a":"${'x'.repeat(32_769)}"`),
  QueueAlreadyExists: toQueues({
    method: 'PUT',
    path: `/${queue}`,
    headers: { 'x-ms-meta-a': 'other' },
  }),
  QueueNotFound: toQueues({ path: '/nowhere/messages' }),
  RequestBodyTooLarge: toQueues({
    method: 'POST',
    path: `/${queue}/messages`,
    body: messageBody('x'.repeat(65_537)),
  }),
  ResourceNotFound: toTables({ path: entityPath(table, 'p', 'nowhere') }),
  ServerBusy: failing('ServerBusy'),
  TableAlreadyExists: creating(table.toUpperCase()),
  TableBeingDeleted: async () => {
    const name = await delayedTables.newTable();
    await delayedTables.send({ method: 'DELETE', path: `/Tables('${name}')` });
    const body = JSON.stringify({ TableName: name });
    return delayedTables.send({ method: 'POST', path: '/Tables', body });
  },
  TableNotFound: toTables({ path: '/nowhere()' }),
  TooManyProperties: inserting(
    Array.from({ length: 253 }, (_, index) => `"a${index}":1`).join(','),
  ),
  UnsupportedHeader: () =>
    blobs.send({
      method: 'PUT',
      path: '/nowhere/blob?comp=metadata',
      headers: { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' },
    }),
  UnsupportedHttpVerb: toQueues({ method: 'PATCH', path: `/${queue}` }),
  UnsupportedXmlNode: setting('<Other/>'),
  UpdateConditionNotSatisfied: toTables({
    method: 'PUT',
    path: entity,
    body: '{}',
    headers: { 'If-Match': `W/"datetime'2020-01-01T00%3A00%3A00Z'"` },
  }),
  XMethodIncorrectCount: tunnelling('POST', ['MERGE', 'DELETE']),
  XMethodIncorrectValue: tunnelling('POST', 'HEAD'),
  XMethodNotUsingPost: tunnelling('PUT', 'MERGE'),
};

/**
 * For each code that is never returned, the request that it is meant for and the actual response.
 */
const insteadOf: Readonly<Record<string, readonly [probe: Probe, expected: string]>> = {
  ConditionHeadersNotSupported: [
    toTables({ method: 'PUT', path: entity, body: '{}', headers: { 'If-None-Match': '*' } }),
    'InvalidInput',
  ],
  ContentLengthExceeded: [
    toTables({ method: 'POST', path: `/${table}`, body: Buffer.alloc(4_194_305, 32) }),
    'RequestBodyTooLarge',
  ],
  EntityNotFound: [toTables({ path: entityPath(table, 'p', 'nowhere') }), 'ResourceNotFound'],
  InvalidValueType: [inserting('"a@odata.type":"Edm.Int32","a":"x"'), 'InvalidInput'],
  KeyValueTooLarge: [
    () => tables.insert(table, { PartitionKey: 'x'.repeat(513), RowKey: '1' }),
    'PropertyValueTooLarge',
  ],
  OperatorInvalid: [toTables({ path: `/${table}()?$filter=n%20like%201` }), 'InvalidInput'],
  PartitionKeyPropertyCannotBeUpdated: [
    toTables({ method: 'MERGE', path: entity, body: '{"PartitionKey":"other"}' }),
    'none',
  ],
  PrimaryKeyPropertyIsInvalidType: [
    () => tables.insert(table, '{"PartitionKey":5,"RowKey":"1"}'),
    'InvalidInput',
  ],
  TableHasNoProperties: [
    async () => tables.send({ path: `/${await tables.newTable()}()?$filter=n%20eq%201` }),
    'none',
  ],
  TableHasNoSuchProperty: [toTables({ path: `/${table}()?$filter=nothing%20eq%201` }), 'none'],
  WriteOperationsNotAllowedOnSecondary: [
    toTables({ method: 'DELETE', target: `/devstoreaccount1-secondary/Tables('${table}')` }),
    'InsufficientAccountPermissions',
  ],
};

/** The status and code of a response, or of the failed part of a batch. */
function codeOf(response: WireResponse): { readonly status: number; readonly code: string } {
  const inner = /^HTTP\/1\.1 (\d{3})[^]*"code":"(\w+)"/m.exec(response.text);
  if (inner !== null) return { status: Number(inner[1]), code: inner[2] ?? '' };
  return { status: response.status, code: response.header('x-ms-error-code') ?? 'none' };
}

/** The rows of the page: a code, and its last cell. */
function rowsOf(heading: string): Map<string, string> {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return new Map(
    [...section.matchAll(/^\| `(\w+)` .*\| ([^|]+) \|$/gm)].map(([, code = '', last = '']) => [
      code,
      last.trim(),
    ]),
  );
}

const documented = rowsOf('Codes');
const notThere = rowsOf('Codes that are not there');
const reserved = [...documented].flatMap(([code, when]) =>
  when.startsWith('Reserved: ') ? [code] : [],
);

describe('error codes', () => {
  it('are answered by a request here, or reserved', () => {
    const held = [...Object.keys(answeredBy), ...reserved];
    assert.deepEqual(held.toSorted(), [...documented.keys()].toSorted());
  });

  it('that are reserved are named by no source but the registry', () => {
    assert.ok(reserved.length > 0);
    for (const { name, text } of serverSources()) {
      for (const code of reserved) assert.ok(!text.includes(`'${code}'`), `${name}: ${code}`);
    }
  });

  for (const [code, probe] of Object.entries(answeredBy)) {
    it(`${code} is answered`, async () => {
      const definition = (errorRegistry as Readonly<Record<string, ErrorDefinition>>)[code];
      assert.deepEqual(codeOf(await probe()), { status: definition?.status, code });
    });
  }

  it('that are not there are those of the page', () => {
    assert.deepEqual([...notThere.keys()].toSorted(), Object.keys(insteadOf).toSorted());
  });

  for (const [code, [probe, expected]] of Object.entries(insteadOf)) {
    it(`${code} is not there, but ${expected}`, async () => {
      const [instead] = (notThere.get(code) ?? '').replaceAll('`', '').split(/[ ,:]/);
      assert.equal(instead, expected);
      assert.equal(codeOf(await probe()).code, expected);
    });
  }
});
