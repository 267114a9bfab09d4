import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AzureNamedKeyCredential, TableServiceClient } from '@azure/data-tables';
import { assertFrontDoorError } from '../kit/errors.js';
import { xmlDeclaration } from '../kit/queue-xml.js';
import { startFixture } from '../kit/server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';

// table-service §3.15 and §3.16: properties and statistics of the table service.

const { client, server } = await startFixture();
const table = await client.newTable();
const service = TableServiceClient.fromConnectionString(server.connectionString(), {
  allowInsecureConnection: true,
});

const path = '/?restype=service&comp=properties';

function document(parts: string): string {
  return `<StorageServiceProperties>${parts}</StorageServiceProperties>`;
}

const defaults = document(
  '<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>' +
    '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>' +
    '<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>' +
    '<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></HourMetrics>' +
    '<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>' +
    '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors />',
);

describe('properties of the table service', () => {
  it('are those of a new account at first, whether a slash follows it or not', async () => {
    for (const query of [path, path.slice(1)]) {
      const response = await client.send({ path: query });
      assert.equal(response.status, 200, response.text);
      assert.equal(response.header('content-type'), 'application/xml');
      assert.equal(response.text, `\ufeff${xmlDeclaration}${defaults}`);
    }
  });

  it('keep what a change leaves out', async () => {
    const logging =
      '<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>' +
      '<RetentionPolicy><Enabled>true</Enabled><Days>365</Days></RetentionPolicy></Logging>';
    const response = await client.send({ method: 'PUT', path, body: document(logging) });
    assert.deepEqual([response.status, response.text], [202, '']);
    const { text } = await client.send({ path });
    assert.match(text, /<Write>true<\/Write>.*<Days>365<\/Days>.*<Days>7<\/Days>/);
  });

  it('go through the official client', async () => {
    const rule = {
      allowedOrigins: 'http://a.example',
      allowedMethods: 'GET,PUT',
      allowedHeaders: 'x-ms-*',
      exposedHeaders: '',
      maxAgeInSeconds: 60,
    };
    await service.setProperties({ cors: [rule] });
    const { cors } = await service.getProperties();
    assert.deepEqual(cors, [rule]);
    await service.setProperties({ cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
  });

  const rule =
    '<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods>' +
    '<AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>';
  for (const [what, body] of [
    ['no XML', '{}'],
    ['nothing', ''],
    ['an empty root', document('')],
    ['six rules', document(`<Cors>${rule.repeat(6)}</Cors>`)],
    ['a part that is not complete', document('<Logging><Version>1.0</Version></Logging>')],
    ['a part that there is not', document('<Blocks />')],
  ] as const) {
    it(`are not set by ${what}`, async () => {
      const before = (await client.send({ path })).text;
      const response = await client.send({ method: 'PUT', path, body });
      assertFrontDoorError(response, { status: 400, code: 'InvalidXmlDocument' });
      assert.equal((await client.send({ path })).text, before);
    });
  }
});

describe('statistics of the table service', () => {
  const body = new RegExp(
    '<StorageServiceStats><GeoReplication><Status>live</Status>' +
      '<LastSyncTime>[^<]+ GMT</LastSyncTime></GeoReplication></StorageServiceStats>$',
  );

  it('are at the secondary endpoint alone', async () => {
    const options = '?restype=service&comp=stats';
    const response = await client.send({ target: `/${client.account}-secondary/${options}` });
    assert.equal(response.status, 200, response.text);
    assert.match(response.text, body);
    assertFrontDoorError(await client.send({ path: `/${options}` }), {
      status: 400,
      code: 'InvalidQueryParameterValue',
    });
  });

  it('come to the official client', async () => {
    const secondary = new TableServiceClient(
      `${server.tableEndpoint}-secondary`,
      new AzureNamedKeyCredential(developmentAccount, developmentKey),
      { allowInsecureConnection: true },
    );
    const { geoReplication } = await secondary.getStatistics();
    assert.equal(geoReplication?.status, 'live');
  });
});

describe('documents of tables', () => {
  it('begin with a byte order mark and say nothing about caches', async () => {
    const secondary = `/${client.account}-secondary/?restype=service&comp=stats`;
    for (const request of [{ path }, { path: `/${table}?comp=acl` }, { target: secondary }]) {
      const { body, ...response } = await client.send(request);
      assert.equal(body.toString('utf8', 0, 8), '\ufeff<?xml');
      assert.equal(
        response.headers.find(([name]) => /cache-control/i.test(name)),
        undefined,
      );
    }
  });

  it('about access policies need an id of 1 to 64 characters', async () => {
    const set = (id: string) =>
      client.send({
        method: 'PUT',
        path: `/${table}?comp=acl`,
        body: `<SignedIdentifiers><SignedIdentifier>${id}</SignedIdentifier></SignedIdentifiers>`,
      });
    for (const id of ['', '<Id />', `<Id>${'i'.repeat(65)}</Id>`]) {
      assertFrontDoorError(await set(id), { status: 400, code: 'InvalidXmlDocument' });
    }
    assert.equal((await set(`<Id>${'i'.repeat(64)}</Id>`)).status, 204);
  });
});
