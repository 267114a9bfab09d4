import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServer } from '../../../src/app/index.js';
import { QueueWireClient } from '../kit/queue-client.js';
import { assertInvalidParameter, assertOutOfRange } from '../kit/queue-refusals.js';
import { elementText, elementTexts } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';
import { costly } from '../../support/run-length.js';

const { queues } = await startQueueFixture();
const create = (name: string) => queues.expect(201, { method: 'PUT', path: `/${name}` });

describe('queue-service §6.1: list queues', () => {
  const listed = Array.from({ length: 5 }, (_, index) => `listed-${index}`);
  const list = (query: string) => queues.send({ path: `/?comp=list${query}` });
  const names = (response: WireResponse) => elementTexts(response.text, 'Name');

  it('shows what was asked and no more', async () => {
    for (const name of listed) await queues.expect(201, { method: 'PUT', path: `/${name}` });
    const endpoint = `http://${queues.authority}/${queues.account}/`;
    const open =
      '<?xml version="1.0" encoding="utf-8"?>' +
      `<EnumerationResults ServiceEndpoint="${endpoint}">`;
    const queue = (name: string) => `<Queue><Name>${name}</Name></Queue>`;
    const all = listed.map(queue).join('');
    assert.equal(
      (await list('&prefix=listed-')).text,
      `${open}<Prefix>listed-</Prefix><Queues>${all}</Queues><NextMarker /></EnumerationResults>`,
    );
    const none = await list('&prefix=listed-x');
    assert.equal(none.status, 200);
    assert.deepEqual(names(none), []);
    assert.match(none.text, /<NextMarker \/><\/EnumerationResults>$/);
  });

  it('goes on from its marker until it is empty', async () => {
    const seen: string[][] = [];
    let marker = '';
    do {
      const query = `&prefix=listed-&maxresults=2${marker && `&marker=${encodeURIComponent(marker)}`}`;
      const page = await list(query);
      assert.equal(elementText(page.text, 'MaxResults'), '2');
      assert.equal(elementText(page.text, 'Marker'), marker === '' ? undefined : marker);
      seen.push(names(page));
      marker = elementText(page.text, 'NextMarker') ?? '';
    } while (marker !== '' && seen.length < 9);
    assert.deepEqual(seen, [listed.slice(0, 2), listed.slice(2, 4), listed.slice(4)]);
  });

  it('sorts names in ordinal order', async () => {
    for (const name of ['sort-b', 'sort-a0', 'sort-a-0', 'sort-9', 'sort-a']) await create(name);
    assert.deepEqual(names(await list('&prefix=sort-')), [
      'sort-9',
      'sort-a',
      'sort-a-0',
      'sort-a0',
      'sort-b',
    ]);
  });

  it('shows metadata only when asked', async () => {
    const queue = await queues.newQueue('with-meta', { 'x-ms-meta-a': '<&>' });
    const plain = await list(`&prefix=${queue}`);
    assert.doesNotMatch(plain.text, /Metadata/);
    const full = await list(`&prefix=${queue}&include=metadata`);
    assert.match(full.text, /<Metadata><a>&lt;&amp;&gt;<\/a><\/Metadata>/);
  });

  it('refuses maxresults of 0 and below, and what is no number', async () => {
    for (const value of ['0', '-1']) {
      const response = await list(`&maxresults=${value}`);
      assertOutOfRange(response, 'maxresults', value, [1, 2_147_483_647]);
    }
    for (const value of ['x', '1.5']) {
      assertInvalidParameter(await list(`&maxresults=${value}`), 'maxresults', value);
    }
    assert.equal(elementText((await list('&maxresults=5001')).text, 'MaxResults'), '5001');
    assert.equal((await list('&maxresults=2147483647')).status, 200);
  });

  it('refuses an include that it does not know', async () => {
    assertInvalidParameter(await list('&include=everything'), 'include', 'everything');
  });

  it('gives 5,000 queues in a page at most', costly(), async () => {
    const names = Array.from({ length: 5001 }, (_, at) => `many-${String(at).padStart(5, '0')}`);
    const init = { queues: Object.fromEntries(names.map((name) => [name, null])) };
    await using many = await createServer({ inMemory: true, init });
    const client = QueueWireClient.of(many);
    const first = await client.expect(200, { path: '/?comp=list&maxresults=9999' });
    assert.equal(elementTexts(first.text, 'Name').length, 5000);
    const marker = encodeURIComponent(elementText(first.text, 'NextMarker') ?? '');
    assert.notEqual(marker, '');
    const second = await client.expect(200, { path: `/?comp=list&marker=${marker}` });
    assert.deepEqual(elementTexts(second.text, 'Name'), ['many-05000']);
    client.close();
  });
});
