import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { absent, differs, holdRows, rowsOn, supported } from '../support/compatibility-rows.js';
import { startWorld, type AnyService } from '../support/compatibility-world.js';
import { testIssuer } from '../support/oauth-issuer.js';
import { startServer } from '../support/start-server.js';
import { changesetParts, insertOperation, sendChangeset } from '../wire/kit/batch.js';
import { acceptFull, acceptNone, entityPath } from '../wire/kit/client.js';
import { assertStatus } from '../wire/kit/errors.js';
import { messageBody } from '../wire/kit/queue-client.js';
import { freshDelegationKey } from '../wire/kit/delegation.js';
import { elementText } from '../wire/kit/queue-xml.js';
import { accountSas, queueSas, tableSas, withSas, type SasParameters } from '../wire/kit/sas.js';
import { signatureOf } from '../wire/kit/signature.js';
import type { WireRequest } from '../wire/kit/signing-client.js';

// The addresses, credentials, versions and bodies of docs/reference/compatibility.md, checked
// against a server.

const issuer = await testIssuer();
const { tables, queues, services, table, queue } = await startWorld({
  oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
});
const onBoth = rowsOn(services);
const entity = entityPath(table, 'p', '1');
const peek = `/${queue}/messages?peekonly=true`;

const serviceRoot = { tables: 'Tables', queues: '?comp=list' } as const;

const answers = (target: (service: AnyService) => string, host?: string) => (): Promise<void> =>
  onBoth.run(async (service) => {
    const headers = host === undefined ? {} : { Host: host };
    assertStatus(await service.send({ target: target(service), headers }), 200);
  });

holdRows('Addresses', [
  supported(
    'http://host:port/account/…',
    answers(({ name }) => `/devstoreaccount1/${serviceRoot[name]}`, 'any.host.example'),
  ),
  supported(
    'http://account.host:port/…',
    answers(({ name }) => `/${serviceRoot[name]}`, 'DevStoreAccount1.storage.example:7'),
  ),
  supported('http://host:port/account-secondary/…', async () => {
    await answers(({ name }) => `/devstoreaccount1-secondary/${serviceRoot[name]}`)();
    await answers(({ name }) => `/${serviceRoot[name]}`, 'devstoreaccount1-secondary.example')();
    await onBoth.run(async (service) => {
      const { path = '', ...write } = await service.write();
      const target = `/devstoreaccount1-secondary${path}`;
      const refused = await service.send({ ...write, target });
      assertStatus(refused, 403, 'InsufficientAccountPermissions');
    });
  }),
  supported('http://account.web.host:port/…', async () => {
    await using plain = await startServer();
    const { blobPort: port } = plain.server;
    const headers = { host: 'devstoreaccount1.web.storage.example' };
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest({ port, method: 'DELETE', path: '/a', headers }, (got) => {
        got.resume();
        resolve(got.statusCode);
      });
      sent.on('error', reject).end();
    });
    assert.equal(status, 405);
  }),
  supported('https://', async () => {
    await using secure = await startServer({ tls: 'self-signed' });
    const { tableEndpoint, certificate = '' } = secure.server;
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const url = `${tableEndpoint}/Tables`;
      const sent = httpsRequest(url, { ca: certificate }, (got) => {
        got.resume();
        resolve(got.statusCode);
      });
      sent.on('error', reject).end();
    });
    assert.equal(status, 401);
  }),
  supported(
    '/account without the slash behind it',
    answers(() => '/devstoreaccount1?restype=service&comp=properties'),
  ),
  onBoth.differs('an unknown account', async (service) => {
    const response = await service.send({ target: `/nobody/${serviceRoot[service.name]}` });
    assertStatus(response, 404, 'ResourceNotFound');
    assert.match(response.text, /There is no account/);
    assert.doesNotMatch(response.text, /devstoreaccount1/);
  }),
]);

/** A read with a signature instead of a key. */
function signed(service: AnyService, token: SasParameters, more: WireRequest = {}) {
  const path = more.path ?? (service.name === 'tables' ? entity : peek);
  return service.send({ ...more, path: withSas(path, token), auth: 'none' });
}

const tokensOf = {
  tables: (fields: SasParameters) => tableSas({ tn: table, sp: 'r', ...fields }),
  queues: (fields: SasParameters) => queueSas(queue, { sp: 'r', ...fields }),
} as const;
const accountToken = (fields: SasParameters = {}) =>
  accountSas({ ss: 'tq', srt: 'sco', sp: 'r', ...fields });

async function bearer(): Promise<string> {
  const roles = ['Storage Table Data Contributor', 'Storage Queue Data Contributor'];
  const token = await issuer.token({ roles, oid: 'o-1', tid: 't-1' });
  return `Bearer ${token}`;
}

/** A signature for a queue, by a user delegation key. */
async function delegated(fields: SasParameters = {}): Promise<SasParameters> {
  const headers = { Authorization: await bearer() };
  const key = await freshDelegationKey(queues, { version: '2025-07-05', headers });
  const token: SasParameters = {
    sv: '2025-07-05',
    sr: 'q',
    sp: 'r',
    se: '2099-01-01T00:00:00Z',
    ...key.fields,
    ...fields,
  };
  const line = (name: string) => token[name] ?? '';
  const lines = [
    ...['sp', 'st', 'se'].map(line),
    `/queue/${queues.account}/${queue}`,
    ...['skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'skdutid', 'sduoid'].map(line),
    ...['sip', 'spr', 'sv'].map(line),
  ];
  return { ...token, sig: signatureOf(key.value, lines.join('\n')) };
}

holdRows('Credentials', [
  ...(['SharedKey', 'SharedKeyLite'] as const).map((scheme) =>
    onBoth.supported(`${scheme} | both`, async (service) =>
      assertStatus(await service.send({ auth: scheme }), 200),
    ),
  ),
  onBoth.supported('service signature | both', async (service) => {
    for (const sv of ['2012-02-12', '2015-02-21', '2019-02-02', '2025-11-05']) {
      assertStatus(await signed(service, tokensOf[service.name]({ sv })), 200);
    }
    const early = tokensOf[service.name]({ sv: '2011-08-18' });
    assertStatus(await signed(service, early), 403, 'AuthenticationFailed');
  }),
  onBoth.supported('account signature | both', async (service) => {
    for (const sv of ['2015-04-05', '2019-12-12', '2020-12-06']) {
      assertStatus(await signed(service, accountToken({ sv })), 200);
    }
    const early = accountToken({ sv: '2015-02-21' });
    assertStatus(await signed(service, early), 403, 'AuthenticationFailed');
  }),
  supported('user delegation signature | queues', async () =>
    assertStatus(await queues.send({ path: withSas(peek, await delegated()), auth: 'none' }), 200),
  ),
  absent('user delegation signature | tables', async () => {
    const path = withSas(entity, { ...(await delegated()), tn: table });
    assertStatus(await tables.send({ path, auth: 'none' }), 403, 'AuthenticationFailed');
  }),
  onBoth.supported('bearer token | both', async (service) => {
    const headers = { Authorization: await bearer(), 'x-ms-version': '2021-12-02' };
    assertStatus(await service.send({ headers }), 200);
    const forged = {
      ...headers,
      Authorization: `${headers.Authorization.slice(0, -8)}AAAAAAAA`,
    };
    assertStatus(await service.send({ headers: forged }), 401);
  }),
  onBoth.absent('none | both', async (service) => {
    const unsigned = (version: string) =>
      service.send({ auth: 'none', headers: { 'x-ms-version': version } });
    const recent = await unsigned('2019-12-12');
    assertStatus(recent, 401);
    assert.match(recent.header('www-authenticate') ?? '', /^Bearer authorization_uri=/);
    assertStatus(await unsigned('2019-10-10'), 403, 'AuthenticationFailed');
  }),
]);

const versioned = (service: AnyService, version: string | undefined) =>
  service.send({ headers: { 'x-ms-version': version } });

holdRows('Versions', [
  onBoth.supported('versions that the cloud has', async (service) => {
    for (const version of ['2009-04-14', '2013-08-15', '2026-06-06']) {
      assert.equal((await versioned(service, version)).header('x-ms-version'), version);
    }
    const old = await queues.send({ version: '2012-02-12' });
    assert.match(old.text, /AccountName="/);
  }),
  onBoth.differs('other dates from 2009-04-14 on', async (service) => {
    assertStatus(await versioned(service, '2020-01-01'), 200);
    assertStatus(await versioned(service, '2009-04-13'), 400, 'InvalidHeaderValue');
  }),
  onBoth.differs('no version', async (service) => {
    const response = await versioned(service, undefined);
    assertStatus(response, 200);
    assert.equal(response.header('x-ms-version'), '2020-12-06');
  }),
  onBoth.supported('versions of signatures', async (service) => {
    const headers = { 'x-ms-version': undefined };
    const token = tokensOf[service.name]({ sv: '2018-03-28' });
    const response = await signed(service, token, { headers });
    assert.equal(response.header('x-ms-version'), '2018-03-28');
    const chosen = await signed(service, { ...token, 'api-version': '2017-07-29' }, { headers });
    assert.equal(chosen.header('x-ms-version'), '2017-07-29');
  }),
  differs('JSON before 2013-08-15', async () => {
    const headers = { 'x-ms-version': '2011-08-18' };
    assert.equal((await tables.send({ path: entity, headers })).json['n'], 1);
  }),
  absent('DataServiceVersion of OData', async () => {
    const headers = { DataServiceVersion: '9.9', MaxDataServiceVersion: '0.1' };
    assertStatus(await tables.send({ headers }), 200);
  }),
]);

/** Checks that a signature with the field is accepted, and refused after the field was changed. */
async function assertSigned(
  service: AnyService,
  token: SasParameters,
  name: string,
  value: string,
): Promise<void> {
  assert.notEqual(token[name], undefined, name);
  assertStatus(await signed(service, token), 200);
  const changed = await signed(service, { ...token, [name]: value });
  assertStatus(changed, 403, 'AuthenticationFailed');
}

const both = (fields: SasParameters, name: string, value: string) => () =>
  onBoth.run(async (service) => {
    await assertSigned(service, tokensOf[service.name](fields), name, value);
    await assertSigned(service, accountToken(fields), name, value);
  });

const [tableService, queueService] = services;
assert.ok(tableService !== undefined && queueService !== undefined);

/** A bound that includes the entity, and one that excludes it. */
const bound = (fields: SasParameters, name: string, outside: string) => async () => {
  await assertSigned(tableService, tokensOf.tables(fields), name, 'x');
  const other = tokensOf.tables({ ...fields, [name]: outside });
  assertStatus(await signed(tableService, other), 404, 'ResourceNotFound');
  if (name === 'srk' || name === 'erk') {
    const alone = tokensOf.tables({ [name]: '1' });
    assertStatus(await signed(tableService, alone), 403, 'AuthenticationFailed');
  }
};

const policies =
  '<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>' +
  '<Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy>' +
  '</SignedIdentifier></SignedIdentifiers>';

holdRows('Fields of signatures', [
  supported('sv | all', both({ sv: '2019-02-02' }, 'sv', '2019-07-07')),
  supported('sp | all', both({ sp: 'ar' }, 'sp', 'ra')),
  supported('st | all', async () => {
    await both({ st: '2020-01-01' }, 'st', '2020-01-02')();
    await onBoth.run(async (service) => {
      const later = tokensOf[service.name]({ st: '2098-01-01' });
      assertStatus(await signed(service, later), 403, 'AuthenticationFailed');
    });
  }),
  supported('se | all', async () => {
    await both({ se: '2098-01-01' }, 'se', '2099-01-01')();
    await onBoth.run(async (service) => {
      const over = tokensOf[service.name]({ se: '2020-01-01' });
      assertStatus(await signed(service, over), 403, 'AuthenticationFailed');
    });
  }),
  supported('sip | all', async () => {
    await both({ sip: '127.0.0.1-127.0.0.9' }, 'sip', '127.0.0.1')();
    await onBoth.run(async (service) => {
      const other = tokensOf[service.name]({ sip: '10.0.0.1' });
      assertStatus(await signed(service, other), 403, 'AuthorizationSourceIPMismatch');
    });
  }),
  supported('spr | all', async () => {
    await both({ spr: 'https,http' }, 'spr', 'https')();
    await onBoth.run(async (service) => {
      const secure = tokensOf[service.name]({ spr: 'https' });
      assertStatus(await signed(service, secure), 403, 'AuthorizationProtocolMismatch');
    });
  }),
  supported('sig | all', both({}, 'sig', 'AAAA')),
  onBoth.supported('si | of a service', async (service) => {
    const [path, token] =
      service.name === 'tables'
        ? [`/${table}?comp=acl`, tableSas({ tn: table, se: undefined, si: 'readers' })]
        : [`/${queue}?comp=acl`, queueSas(queue, { se: undefined, si: 'readers' })];
    assertStatus(await service.send({ method: 'PUT', path, body: policies }), 204);
    await assertSigned(service, token, 'si', 'others');
    const body = '<SignedIdentifiers/>';
    assertStatus(await service.send({ method: 'PUT', path, body }), 204);
    assertStatus(await signed(service, token), 403, 'AuthenticationFailed');
  }),
  supported('tn | of tables', async () => {
    await assertSigned(tableService, tokensOf.tables({ tn: table.toUpperCase() }), 'tn', 'other');
  }),
  supported('spk | of tables', bound({ spk: 'p' }, 'spk', 'q')),
  supported('srk | of tables', bound({ spk: 'p', srk: '1' }, 'srk', '2')),
  supported('epk | of tables', bound({ epk: 'p' }, 'epk', 'o')),
  supported('erk | of tables', bound({ epk: 'p', erk: '1' }, 'erk', '0')),
  onBoth.supported('ss | of an account', async (service) => {
    await assertSigned(service, accountToken({ ss: 'bqtf' }), 'ss', 'tq');
    const other = accountToken({ ss: service.name === 'tables' ? 'bq' : 'bt' });
    assertStatus(await signed(service, other), 403, 'AuthorizationServiceMismatch');
  }),
  onBoth.supported('srt | of an account', async (service) => {
    await assertSigned(service, accountToken(), 'srt', 'so');
    const other = accountToken({ srt: 's' });
    assertStatus(await signed(service, other), 403, 'AuthorizationResourceTypeMismatch');
  }),
  differs('ses | of an account', () =>
    onBoth.run((service) => assertSigned(service, accountToken({ ses: 'scope' }), 'ses', 'other')),
  ),
  supported('skoid, sktid, skt, ske, sks, skv, sr | of a delegated user', async () => {
    const token = await delegated();
    for (const name of ['skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'sr']) {
      await assertSigned(queueService, token, name, 'b');
    }
  }),
  absent('sduoid, skdutid | of a delegated user', async () => {
    for (const name of ['sduoid', 'skdutid']) {
      const token = await delegated({ [name]: 'o-2' });
      assertStatus(await signed(queueService, token), 403, 'AuthenticationFailed');
    }
  }),
]);

const propertiesPath = '/?restype=service&comp=properties';
const setProperties = (service: AnyService, children: string, version = '2019-02-02') =>
  service.send({
    method: 'PUT',
    path: propertiesPath,
    headers: { 'x-ms-version': version },
    body: `<StorageServiceProperties>${children}</StorageServiceProperties>`,
  });
const retention = '<RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy>';
const metrics = `<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>${retention}`;
const logging = `<Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write>${retention}</Logging>`;

/** What is set can be read back, and no table or queue is added. */
const kept = (name: string, children: string) => () =>
  onBoth.run(async (service) => {
    const before = (await service.send({})).text;
    assertStatus(await setProperties(service, children), 202);
    const { text } = await service.send({ path: propertiesPath });
    assert.match(text, new RegExp(`<${name}>[^]*<Days>5</Days>[^]*</${name}>`));
    assert.equal((await service.send({})).text, before);
  });

/** Inserts an entity; returns its stored custom members. */
async function stored(rowKey: string, members: string, accept = acceptNone): Promise<string> {
  await tables.put(table, `{"PartitionKey":"bodies","RowKey":"${rowKey}",${members}}`);
  const { text } = await tables.get(table, 'bodies', rowKey, { Accept: accept });
  return /"Timestamp":"[^"]+",?(.*)\}$/s.exec(text)?.[1] ?? text;
}

holdRows('Bodies', [
  supported('JSON, three levels of metadata | tables', async () => {
    assert.equal(await stored('json', '"name":"Zoë 日本"'), '"name":"Zoë 日本"');
    const levels = [acceptNone, acceptFull].map(async (Accept) => {
      const { text } = await tables.send({ path: entity, headers: { Accept } });
      return /"odata\.type"/.test(text);
    });
    assert.deepEqual(await Promise.all(levels), [false, true]);
  }),
  absent('Atom and other XML of OData | tables', async () => {
    const headers = { Accept: 'application/atom+xml', 'x-ms-version': '2014-02-14' };
    assertStatus(await tables.send({ headers }), 415, 'AtomFormatNotSupported');
  }),
  absent('verbose JSON | tables', async () => {
    const headers = { Accept: 'application/json;odata=verbose' };
    assertStatus(await tables.send({ headers }), 415, 'JsonVerboseFormatNotSupported');
  }),
  supported('all eight EDM types | tables', async () => {
    const members = [
      '"s":"x"',
      '"b":true',
      '"i":1',
      '"d":3.0',
      '"l@odata.type":"Edm.Int64","l":"9007199254740993"',
      '"t@odata.type":"Edm.DateTime","t":"1601-01-01T00:00:00.0000001Z"',
      '"g@odata.type":"Edm.Guid","g":"c9da6455-213d-42c9-9a79-3e9149a57833"',
      '"x@odata.type":"Edm.Binary","x":"AQ=="',
    ].join(',');
    assert.equal(await stored('types', members, acceptFull), members);
  }),
  supported('odata.* and Timestamp in bodies | tables', async () => {
    assert.equal(await stored('odata', '"odata.etag":"x","Timestamp":null,"n":1'), '"n":1');
  }),
  supported('null | tables', async () => {
    assert.equal(await stored('null', '"a":null,"b":1'), '"b":1');
    const path = entityPath(table, 'bodies', 'null');
    assertStatus(await tables.send({ method: 'MERGE', path, body: '{"b":null}' }), 204);
    const { json } = await tables.send({ path });
    assert.equal(json['b'], 1);
  }),
  supported('multipart/mixed | tables', async () => {
    const rows = Array.from({ length: 100 }, (_, index) =>
      insertOperation(table, { PartitionKey: 'hundred', RowKey: `${index}` }),
    );
    assert.equal(changesetParts(await sendChangeset(tables, rows)).length, 100);
  }),
  differs('Logging | both', kept('Logging', logging)),
  differs('HourMetrics | both', kept('HourMetrics', `<HourMetrics>${metrics}</HourMetrics>`)),
  differs(
    'MinuteMetrics | both',
    kept('MinuteMetrics', `<MinuteMetrics>${metrics}</MinuteMetrics>`),
  ),
  onBoth.supported('Metrics | both', async (service) => {
    const old = `${logging}<Metrics>${metrics}</Metrics>`;
    assertStatus(await setProperties(service, old, '2012-02-12'), 202);
    assertStatus(await setProperties(service, old), 400);
    const shown = await service.send({
      path: propertiesPath,
      headers: { 'x-ms-version': '2012-02-12' },
    });
    assert.match(shown.text, /<Metrics>/);
  }),
  onBoth.supported('Cors | both', async (service) => {
    const rule = (origin: string) =>
      `<CorsRule><AllowedOrigins>${origin}</AllowedOrigins><AllowedMethods>GET</AllowedMethods>` +
      '<AllowedHeaders/><ExposedHeaders/><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>';
    const rules = (count: number) =>
      Array.from({ length: count }, (_, index) => rule(`http://${index}.example`)).join('');
    assertStatus(await setProperties(service, `<Cors>${rules(6)}</Cors>`), 400);
    assertStatus(await setProperties(service, `<Cors>${rules(5)}</Cors>`), 202);
    const { headers } = await service.send({ headers: { Origin: 'http://4.example' } });
    assert.ok(headers.some(([name]) => name === 'Access-Control-Allow-Origin'));
  }),
  onBoth.absent('DefaultServiceVersion | both', async (service) => {
    for (const child of [
      '<DefaultServiceVersion>2019-02-02</DefaultServiceVersion>',
      '<StaticWebsite><Enabled>false</Enabled></StaticWebsite>',
      '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>',
    ]) {
      assertStatus(await setProperties(service, child), 400);
    }
  }),
  onBoth.supported('SignedIdentifiers | both', async (service) => {
    const path = service.name === 'tables' ? `/${table}?comp=acl` : `/${queue}?comp=acl`;
    const list = (count: number) =>
      Array.from(
        { length: count },
        (_, index) => `<SignedIdentifier><Id>${index}</Id></SignedIdentifier>`,
      ).join('');
    const set = (count: number) =>
      service.send({
        method: 'PUT',
        path,
        body: `<SignedIdentifiers>${list(count)}</SignedIdentifiers>`,
      });
    assertStatus(await set(6), 400, 'InvalidXmlDocument');
    assertStatus(await set(5), 204);
    assert.match((await service.send({ path })).text, /<Id>4<\/Id>/);
  }),
  onBoth.differs('StorageServiceStats | both', async (service) => {
    const target = '/devstoreaccount1-secondary/?restype=service&comp=stats';
    const { text } = await service.send({ target });
    assert.equal(elementText(text, 'Status'), 'live');
    const at = Date.parse(elementText(text, 'LastSyncTime') ?? '');
    assert.ok(Math.abs(Date.now() - at) < 600_000, text);
  }),
  supported('EnumerationResults | queues', async () => {
    assert.match((await queues.send({})).text, /<EnumerationResults ServiceEndpoint="[^"]+">/);
    const old = await queues.send({ version: '2011-08-18' });
    assert.match(old.text, /<EnumerationResults AccountName="[^"]+">[^]*<Url>/);
  }),
  absent('x-ms-invalid-name | queues', async () => {
    const headers = { 'x-ms-meta-a-b': 'x' };
    const response = await queues.send({ method: 'PUT', path: '/invalid-name', headers });
    assertStatus(response, 400, 'InvalidMetadata');
  }),
  supported('QueueMessage | queues', async () => {
    const put = (characters: number, version = '2021-12-02') =>
      queues.send({
        method: 'POST',
        path: `/${queue}/messages`,
        version,
        body: messageBody('x'.repeat(characters)),
      });
    assertStatus(await put(65_536), 201);
    assertStatus(await put(65_537), 413, 'RequestBodyTooLarge');
    assertStatus(await put(8_192, '2009-09-19'), 201);
    assertStatus(await put(8_193, '2009-09-19'), 413, 'RequestBodyTooLarge');
  }),
  supported('QueueMessagesList | queues', async () => {
    const shown = async (version: string) => (await queues.send({ path: peek, version })).text;
    assert.match(await shown('2009-09-19'), /<QueueMessagesList>[^]*<DequeueCount>/);
    assert.doesNotMatch(await shown('2009-07-17'), /<DequeueCount>/);
  }),
  supported('UserDelegationKey | queues', async () =>
    assert.equal((await delegated())['skoid'], 'o-1'),
  ),
]);
