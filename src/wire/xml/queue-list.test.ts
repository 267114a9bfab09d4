import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { renderQueueList } from './queue-list.js';
import { parseXml } from './reader.js';

const endpoint = 'https://myaccount.queue.core.windows.net/';
const version = '2021-12-02';
const declaration = '<?xml version="1.0" encoding="utf-8"?>';

describe('renderQueueList', () => {
  it('repeats what was asked and shows metadata with the case of its names', () => {
    const list = {
      endpoint,
      version,
      prefix: 'q',
      marker: 'm',
      maxResults: 3,
      queues: [{ name: 'q1', metadata: [['Colour', 'blue'] as const] }],
    };
    const page =
      '<Prefix>q</Prefix><Marker>m</Marker><MaxResults>3</MaxResults><Queues><Queue>' +
      '<Name>q1</Name><Metadata><Colour>blue</Colour></Metadata></Queue></Queues>';
    assert.equal(
      renderQueueList(list).toString(),
      `${declaration}<EnumerationResults ServiceEndpoint="${endpoint}">${page}<NextMarker /></EnumerationResults>`,
    );
    assert.match(
      renderQueueList({ ...list, nextMarker: '/myaccount/q2' }).toString(),
      /<\/Queues><NextMarker>\/myaccount\/q2<\/NextMarker><\/EnumerationResults>$/,
    );
  });

  it('writes nothing that was not asked for', () => {
    assert.equal(
      renderQueueList({ endpoint, version, queues: [] }).toString(),
      `${declaration}<EnumerationResults ServiceEndpoint="${endpoint}"><Queues /><NextMarker /></EnumerationResults>`,
    );
  });

  it('names the endpoint and each URL as versions before 2013-08-15 do', () => {
    const queues = [{ name: 'q1', metadata: [] }];
    const rendered = (version: string) => renderQueueList({ endpoint, version, queues }).toString();
    const url = `<Url>${endpoint}q1</Url>`;
    const page = (queue: string) =>
      `${declaration}<EnumerationResults AccountName="${endpoint}"><Queues><Queue>${queue}</Queue></Queues><NextMarker /></EnumerationResults>`;
    assert.equal(rendered('2012-02-12'), page(`<Name>q1</Name>${url}<Metadata />`));
    assert.equal(rendered('2009-09-19'), page(`<Name>q1</Name>${url}<Metadata />`));
    assert.equal(rendered('2009-04-14'), page(`<QueueName>q1</QueueName>${url}`));
    for (const newer of ['2013-08-15', '2021-12-02']) {
      assert.match(rendered(newer), /ServiceEndpoint=.*<Name>q1<\/Name><Metadata \/><\/Queue>/);
    }
  });

  it('reports a metadata name that is no identifier as text', () => {
    const metadata = ['1st', 'a-b', '', 'é', 'x<y'].map((name) => [name, 'value'] as const);
    const root = parseXml(
      renderQueueList({ endpoint, version, queues: [{ name: 'q1', metadata }] }),
    );
    const shown = root.children[0]?.children[0]?.children[1]?.children ?? [];
    assert.deepEqual(
      shown.map(({ name, text }) => [name, text]),
      metadata.map(([name]) => ['x-ms-invalid-name', name]),
    );
  });

  it('is read back', () => {
    const text = fc.string({ unit: fc.constantFrom(...Array.from('ab<>&"é😀 ')) });
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
    const queue = fc.record(
      { name: text, metadata: fc.array(fc.tuple(name, text)) },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(text, fc.array(queue), text, (prefix, queues, nextMarker) => {
        const root = parseXml(renderQueueList({ endpoint, version, prefix, queues, nextMarker }));
        const [first, list, last] = root.children;
        assert.deepEqual([first?.text, last?.text], [prefix, nextMarker]);
        const read = list?.children.map(({ children }) => ({
          name: children[0]?.text,
          metadata: children[1]?.children.map((pair) => [pair.name, pair.text]),
        }));
        assert.deepEqual(read, queues);
      }),
    );
  });
});
