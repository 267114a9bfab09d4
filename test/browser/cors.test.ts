import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AzureNamedKeyCredential,
  generateTableSas,
  TableClient,
  TableServiceClient,
} from '@azure/data-tables';
import {
  generateQueueSASQueryParameters,
  QueueSASPermissions,
  QueueServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import type { Browser, Page } from 'playwright-core';
import { developmentAccount } from '../../src/services/accounts/directory.js';
import {
  launchChromium,
  servePage,
  withoutChromium,
  type PageOrigin,
} from '../support/chromium.js';
import { startServer, type StartedServer } from '../support/start-server.js';

// CORS rules as a browser applies them: Chromium sends the preflight requests and decides what a
// page may read. The official clients make tokens and rules.

interface Init {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** What the page gets: a response with the headers that it may read, or the name of the error. */
interface Fetched {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
  readonly thrown?: string;
}

function fetchIn(page: Page, url: string, init: Init = {}): Promise<Fetched> {
  return page.evaluate(
    async ([address, options]) => {
      try {
        const uncached = { ...options, cache: 'no-store' };
        const response = await fetch(address, uncached);
        const headers: Record<string, string> = {};
        for (const [name, value] of response.headers) headers[name] = value;
        return { status: response.status, headers, text: await response.text() };
      } catch (error) {
        return { thrown: error instanceof Error ? error.name : String(error) };
      }
    },
    [url, init] as const,
  );
}

describe('a page of another origin', { skip: withoutChromium }, () => {
  const { name } = developmentAccount;
  const [key = ''] = developmentAccount.keys;
  const expiresOn = new Date(Date.now() + 3_600_000);
  let started: StartedServer;
  let [allowed, other]: (PageOrigin | undefined)[] = [];
  let browser: Browser;
  let [page, stranger]: (Page | undefined)[] = [];
  let tableSas = '';
  let queueSas = '';

  const at = (place: Page | undefined) => {
    assert.ok(place !== undefined);
    return place;
  };
  const tablesUrl = (path: string, query = '') =>
    `${started.server.tableEndpoint}${path}?${tableSas}${query}`;
  const queuesUrl = (path: string, query = '') =>
    `${started.server.queueEndpoint}${path}?${queueSas}${query}`;

  /** Sets the same rules for tables and queues; without an origin, none. */
  async function allow(origin?: string, exposedHeaders = 'etag,x-ms-*'): Promise<void> {
    const connection = started.server.connectionString();
    const rule = {
      allowedMethods: 'GET,POST,PUT,DELETE,MERGE',
      allowedHeaders: '*',
      exposedHeaders,
      // Preflight results are not cached, so that each test sends its own.
      maxAgeInSeconds: 0,
    };
    const cors = origin === undefined ? [] : [{ ...rule, allowedOrigins: origin }];
    const tables = TableServiceClient.fromConnectionString(connection, {
      allowInsecureConnection: true,
    });
    const queues = QueueServiceClient.fromConnectionString(connection);
    await tables.setProperties({ cors });
    await queues.setProperties({ cors });
    assert.deepEqual((await tables.getProperties()).cors ?? [], cors);
    assert.deepEqual((await queues.getProperties()).cors ?? [], cors);
  }

  before(async () => {
    started = await startServer();
    [allowed, other] = [await servePage(), await servePage()];
    browser = await launchChromium();
    [page, stranger] = [await browser.newPage(), await browser.newPage()];
    await page.goto(allowed.origin);
    await stranger.goto(other.origin);
    const connection = started.server.connectionString();
    const table = TableClient.fromConnectionString(connection, 'people', {
      allowInsecureConnection: true,
    });
    await table.createTable();
    tableSas = generateTableSas('people', new AzureNamedKeyCredential(name, key), {
      permissions: { query: true, add: true, update: true, delete: true },
      expiresOn,
    });
    await QueueServiceClient.fromConnectionString(connection).createQueue('jobs');
    queueSas = generateQueueSASQueryParameters(
      { queueName: 'jobs', permissions: QueueSASPermissions.parse('raup'), expiresOn },
      new StorageSharedKeyCredential(name, key),
    ).toString();
  });

  after(async () => {
    await browser.close();
    await allowed?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, []);
  });

  const json = { 'Content-Type': 'application/json', Accept: 'application/json;odata=nometadata' };

  it('inserts, lists and merges entities, and reads the headers that are exposed', async () => {
    await allow(allowed?.origin);
    const etags: (string | undefined)[] = [];
    for (const RowKey of ['1', '2', '3']) {
      const body = JSON.stringify({ PartitionKey: 'p', RowKey, Name: 'Ada' });
      const init = { method: 'POST', headers: json, body };
      const inserted = await fetchIn(at(page), tablesUrl('/people'), init);
      assert.equal(inserted.status, 201, inserted.thrown ?? inserted.text);
      etags.push(inserted.headers?.['etag']);
    }
    assert.equal(new Set(etags).size, 3);
    assert.match(etags[0] ?? '', /^W\/"datetime'/);

    const merge = tablesUrl("/people(PartitionKey='p',RowKey='2')");
    const change = { method: 'MERGE', headers: { ...json, 'If-Match': etags[1] ?? '' } };
    const merged = await fetchIn(at(page), merge, { ...change, body: '{"Age":36}' });
    assert.equal(merged.status, 204, merged.thrown ?? merged.text);
    const late = await fetchIn(at(page), merge, { ...change, body: '{"Age":37}' });
    assert.equal(late.status, 412, late.thrown ?? late.text);

    const listed = await fetchIn(at(page), tablesUrl('/people()', '&$top=2'), { headers: json });
    assert.equal(listed.status, 200, listed.thrown ?? listed.text);
    const { value } = JSON.parse(listed.text ?? '') as {
      value: { RowKey: string; Age?: number }[];
    };
    assert.deepEqual(
      value.map(({ RowKey, Age }) => [RowKey, Age]),
      [
        ['1', undefined],
        ['2', 36],
      ],
    );
    assert.ok(listed.headers?.['x-ms-continuation-nextpartitionkey'] !== undefined);
    assert.ok(listed.headers['x-ms-continuation-nextrowkey'] !== undefined);
  });

  it('puts, gets and deletes messages', async () => {
    await allow(allowed?.origin);
    const body = '<QueueMessage><MessageText>hello</MessageText></QueueMessage>';
    const headers = { 'Content-Type': 'application/xml' };
    const put = await fetchIn(at(page), queuesUrl('/jobs/messages'), {
      method: 'POST',
      headers,
      body,
    });
    assert.equal(put.status, 201, put.thrown ?? put.text);
    const got = await fetchIn(at(page), queuesUrl('/jobs/messages'));
    assert.match(got.text ?? '', /<MessageText>hello<\/MessageText>/);
    const [, id = ''] = /<MessageId>(.*)<\/MessageId>/.exec(got.text ?? '') ?? [];
    const [, receipt = ''] = /<PopReceipt>(.*)<\/PopReceipt>/.exec(got.text ?? '') ?? [];
    const url = queuesUrl(`/jobs/messages/${id}`, `&popreceipt=${encodeURIComponent(receipt)}`);
    const deleted = await fetchIn(at(page), url, { method: 'DELETE' });
    assert.equal(deleted.status, 204, deleted.thrown ?? deleted.text);
  });

  it('reads why it was refused', async () => {
    await allow(allowed?.origin);
    const missing = tablesUrl("/people(PartitionKey='no',RowKey='no')");
    const none = await fetchIn(at(page), missing, { headers: json });
    assert.equal(none.status, 404, none.thrown ?? none.text);
    assert.equal(none.headers?.['x-ms-error-code'], 'ResourceNotFound');
    const unsigned = await fetchIn(at(page), `${started.server.queueEndpoint}/jobs/messages`);
    assert.ok(unsigned.status === 401 || unsigned.status === 403, unsigned.thrown);
    const forged = await fetchIn(
      at(page),
      queuesUrl('/jobs/messages').replace(/sig=.../, 'sig=AAA'),
    );
    assert.equal(forged.status, 403, forged.thrown);
  });

  it('reads no header that is not exposed', async () => {
    await allow(allowed?.origin, '');
    const listed = await fetchIn(at(page), tablesUrl('/people()'), { headers: json });
    assert.equal(listed.status, 200);
    assert.deepEqual(
      Object.keys(listed.headers ?? {}).filter((header) => header.startsWith('x-ms-')),
      [],
    );
  });

  it('that no rule names gets nothing, by a simple request or a preflighted one', async () => {
    await allow(allowed?.origin);
    const simple = { headers: { Accept: 'application/json' } };
    assert.equal((await fetchIn(at(page), tablesUrl('/people()'), simple)).status, 200);
    assert.deepEqual(await fetchIn(at(stranger), tablesUrl('/people()'), simple), {
      thrown: 'TypeError',
    });
    const body = JSON.stringify({ PartitionKey: 'p', RowKey: 'stranger' });
    const insert = { method: 'POST', headers: json, body };
    assert.deepEqual(await fetchIn(at(stranger), tablesUrl('/people'), insert), {
      thrown: 'TypeError',
    });
    assert.deepEqual(await fetchIn(at(stranger), queuesUrl('/jobs/messages')), {
      thrown: 'TypeError',
    });
    const inserted = tablesUrl("/people(PartitionKey='p',RowKey='stranger')");
    assert.equal((await fetchIn(at(page), inserted, { headers: json })).status, 404);
  });

  it('is let in by a rule for any origin', async () => {
    await allow('*');
    for (const each of [page, stranger]) {
      assert.equal(
        (await fetchIn(at(each), tablesUrl('/people()'), { headers: json })).status,
        200,
      );
      const peek = queuesUrl('/jobs/messages', '&peekonly=true');
      assert.equal((await fetchIn(at(each), peek)).status, 200);
    }
  });

  it('gets nothing any more as soon as the rules are gone', async () => {
    await allow(allowed?.origin);
    const list = () => fetchIn(at(page), tablesUrl('/people()'), { headers: json });
    const peek = () => fetchIn(at(page), queuesUrl('/jobs/messages', '&peekonly=true'));
    assert.deepEqual([(await list()).status, (await peek()).status], [200, 200]);
    await allow();
    assert.deepEqual([(await list()).thrown, (await peek()).thrown], ['TypeError', 'TypeError']);
  });
});
