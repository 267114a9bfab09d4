import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { costly } from '../../../test/support/run-length.js';
import { etagText } from '../blobs/etag.js';
import { formatSnapshotTime } from '../blobs/snapshot-time.js';
import { renderFindResult } from './blob-find-result.js';
import { renderBlobList, type ListedBlob, type RenderedBlobList } from './blob-list.js';
import { renderPageList } from './blob-page-list.js';
import { parseXml } from './reader.js';

const micros = 1_584_599_008_030_077;
const properties = {
  kind: 'block',
  bytes: 11,
  createdMicros: micros,
  modifiedMicros: micros,
  headers: { contentType: 'text/plain', contentMd5: Buffer.alloc(16) },
  metadata: [],
  tags: [],
  lease: { status: 'unlocked', state: 'available' },
} as const;
const blob: ListedBlob = { kind: 'blob', name: 'dir/a.txt', properties };

function render(list: Partial<RenderedBlobList>): string {
  const all = {
    endpoint: 'http://h/a/',
    container: 'c1',
    version: '2021-12-02',
    include: { metadata: false, tags: false, copy: false, policies: false, legalHolds: false },
    items: [blob],
    ...list,
  };
  return renderBlobList(all).toString();
}

/** The names of the elements inside of the properties of the first blob, in their order. */
function namesOf(text: string): string[] {
  const list = parseXml(Buffer.from(text));
  const blobs = list.children.find(({ name }) => name === 'Blobs');
  const found = blobs?.children[0]?.children.find(({ name }) => name === 'Properties');
  return found?.children.map(({ name }) => name) ?? [];
}

describe('a list of blobs', () => {
  it('shows a blob as the cloud service does', () => {
    const date = 'Thu, 19 Mar 2020 06:23:28 GMT';
    assert.equal(
      render({}),
      '<?xml version="1.0" encoding="utf-8"?>' +
        '<EnumerationResults ServiceEndpoint="http://h/a/" ContainerName="c1"><Blobs><Blob>' +
        '<Name>dir/a.txt</Name><Properties>' +
        `<Creation-Time>${date}</Creation-Time><Last-Modified>${date}</Last-Modified>` +
        `<Etag>${etagText(micros)}</Etag><Content-Length>11</Content-Length>` +
        '<Content-Type>text/plain</Content-Type><Content-Encoding /><Content-Language />' +
        '<Content-MD5>AAAAAAAAAAAAAAAAAAAAAA==</Content-MD5><Cache-Control />' +
        '<Content-Disposition /><BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>' +
        '<AccessTierInferred>true</AccessTierInferred><LeaseStatus>unlocked</LeaseStatus>' +
        '<LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted>' +
        '</Properties></Blob></Blobs><NextMarker /></EnumerationResults>',
    );
  });

  it('writes the properties of every kind in their order', () => {
    const everything: ListedBlob = {
      kind: 'blob',
      name: 'b',
      snapshotMicros: micros,
      deleted: { timeMicros: micros, remainingDays: 3 },
      properties: {
        ...properties,
        kind: 'append',
        sequenceNumber: 9_223_372_036_854_775_807n,
        tags: [['k', 'v']],
        metadata: [['colour', 'blue']],
        append: { isSealed: true },
        immutability: {
          policy: { untilSeconds: Math.floor(micros / 1_000_000), mode: 'unlocked' },
          hasLegalHold: true,
        },
        tier: { tier: 'Archive', changedMicros: micros },
        lease: { status: 'locked', state: 'leased', duration: 'fixed' },
        copy: {
          id: 'i',
          status: 'failed',
          source: 'http://h/a/c/b?x&y',
          bytesDone: 1,
          bytesTotal: 2,
          completedMicros: micros,
          description: '404 X "y"',
          incremental: { snapshotMicros: micros },
        },
      },
    };
    const include = { metadata: true, tags: true, copy: true, policies: true, legalHolds: true };
    const text = render({ items: [everything], include });
    assert.deepEqual(namesOf(text), [
      ...'Creation-Time Last-Modified Etag Content-Length Content-Type'.split(' '),
      ...'Content-Encoding Content-Language Content-MD5 Cache-Control'.split(' '),
      ...'Content-Disposition x-ms-blob-sequence-number BlobType AccessTier'.split(' '),
      ...'AccessTierChangeTime LeaseStatus LeaseState'.split(' '),
      ...'LeaseDuration CopyId CopyStatus CopySource CopyProgress CopyCompletionTime'.split(' '),
      ...'CopyStatusDescription ServerEncrypted IncrementalCopy DestinationSnapshot'.split(' '),
      ...'DeletedTime RemainingRetentionDays TagCount Sealed'.split(' '),
      ...'ImmutabilityPolicyUntilDate ImmutabilityPolicyMode LegalHold'.split(' '),
    ]);
    assert.ok(text.includes('<Deleted>true</Deleted><Snapshot>2020-03-19T06:23:28.030077'));
    assert.ok(text.includes('<CopySource>http://h/a/c/b?x&amp;y</CopySource>'));
    assert.ok(text.includes('<CopyProgress>1/2</CopyProgress>'));
    assert.ok(
      text.includes(
        '</Properties><Metadata><colour>blue</colour></Metadata>' +
          '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags></Blob>',
      ),
    );
    const until = 'Thu, 19 Mar 2020 06:23:28 GMT';
    assert.ok(text.includes(`UntilDate>${until}</ImmutabilityPolicyUntilDate>`));
    assert.ok(text.includes('<ImmutabilityPolicyMode>unlocked</ImmutabilityPolicyMode>'));
    const without = render({ items: [everything] });
    for (const name of ['Metadata', '<Tags>', 'CopyId', 'Immutability', 'LegalHold']) {
      assert.ok(!without.includes(name), name);
    }
  });

  it('shows prefixes and what the request asked for', () => {
    const text = render({
      prefix: 'p',
      marker: 'm',
      maxResults: 10,
      delimiter: '/',
      nextMarker: 'n',
      items: [{ kind: 'prefix', name: 'dir/sub/' }],
    });
    assert.ok(
      text.includes(
        '<Prefix>p</Prefix><Marker>m</Marker><MaxResults>10</MaxResults><Delimiter>/</Delimiter>' +
          '<Blobs><BlobPrefix><Name>dir/sub/</Name></BlobPrefix></Blobs><NextMarker>n</NextMarker>',
      ),
    );
    assert.ok(render({ items: [] }).includes('<Blobs /><NextMarker />'));
  });

  it('shows versions, and blobs of uncommitted blocks', () => {
    const version = { micros, isCurrent: true };
    const text = render({ items: [{ ...blob, version, hasVersionsOnly: true }] });
    const time = formatSnapshotTime(micros);
    assert.ok(text.includes(`<VersionId>${time}</VersionId><IsCurrentVersion>true<`));
    assert.ok(text.includes('</Properties><HasVersionsOnly>true</HasVersionsOnly></Blob>'));
    const uncommitted = render({
      items: [{ kind: 'blob', name: 'u' }],
      include: { metadata: true, tags: true, copy: true, policies: true, legalHolds: true },
    });
    assert.deepEqual(namesOf(uncommitted), ['Content-Length', 'BlobType']);
    assert.ok(!uncommitted.includes('Metadata'));
  });

  it('has the form of old versions', () => {
    const items = [{ ...blob, name: 'a b/c?' }];
    const old = render({ version: '2012-02-12', items });
    assert.ok(old.includes('<EnumerationResults ContainerName="http://h/a/c1">'));
    assert.ok(old.includes('<Name>a b/c?</Name><Url>http://h/a/c1/a%20b/c%3F</Url>'));
    for (const name of ['Creation-Time', 'AccessTier', 'ServerEncrypted']) {
      assert.ok(!old.includes(name), name);
    }
    const tagged = [{ ...blob, properties: { ...properties, tags: [['k', 'v']] as const } }];
    for (const [from, before, text] of [
      ['2013-08-15', '2012-02-12', 'ServiceEndpoint'],
      ['2015-12-11', '2015-07-08', 'ServerEncrypted'],
      ['2017-04-17', '2016-05-31', 'AccessTier'],
      ['2017-11-09', '2017-07-29', 'Creation-Time'],
      ['2019-12-12', '2019-10-10', 'TagCount'],
    ] as const) {
      assert.ok(render({ version: from, items: tagged }).includes(text), text);
      assert.ok(!render({ version: before, items: tagged }).includes(text), text);
    }
    assert.ok(!render({ version: '2013-08-15' }).includes('<Url>'));
  });

  it('keeps every name', costly(), () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({
        unit: fc.constantFrom(' ', '\r', '\n', '\t', '&', '<', ']]>', '\ufffe', '%41', '\0'),
        minLength: 1,
      }),
    );
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
        const items = names.map((name) => ({ ...blob, name }));
        const { endpoint, where } = { endpoint: 'http://h/', where: "a='b'" };
        const blobs = names.map((name) => ({ name, container: 'c', tags: [] }));
        for (const text of [
          render({ items }),
          renderFindResult({ endpoint, where, blobs }).toString(),
        ]) {
          // A carriage return that is not escaped would come back as a line feed.
          assert.deepEqual(shownNames(text), names);
        }
      }),
    );
  });
});

/** The names of the blobs in a list, decoded as clients do. */
function shownNames(text: string): string[] {
  parseXml(Buffer.from(text));
  return [...text.matchAll(/<Name( Encoded="true")?>([^<]*)<\/Name>/g)].map(
    ([, encoded, name = '']) =>
      encoded === undefined
        ? parseXml(Buffer.from(`<a>${name}</a>`)).text
        : decodeURIComponent(name),
  );
}

describe('the answer to Find Blobs by Tags', () => {
  it('shows the expression, and of each blob the tags that it names', () => {
    assert.equal(
      renderFindResult({
        endpoint: 'http://h/a/',
        where: `"k"='v'`,
        blobs: [
          { name: 'b', container: 'c', tags: [['k', 'v']], version: { micros, isCurrent: true } },
        ],
        nextMarker: 'n',
      }).toString(),
      '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://h/a/">' +
        `<Where>&quot;k&quot;='v'</Where><Blobs><Blob><Name>b</Name>` +
        `<ContainerName>c</ContainerName><VersionId>${formatSnapshotTime(micros)}</VersionId>` +
        '<IsCurrentVersion>true</IsCurrentVersion>' +
        '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags></Blob></Blobs>' +
        '<NextMarker>n</NextMarker></EnumerationResults>',
    );
  });
});

describe('the answer to Get Page Ranges', () => {
  const declaration = '<?xml version="1.0" encoding="utf-8"?>';

  it('shows ranges, and where it goes on', () => {
    assert.equal(renderPageList({ ranges: [] }).toString(), `${declaration}<PageList />`);
    assert.equal(
      renderPageList({
        ranges: [
          { kind: 'written', first: 0, last: 511 },
          { kind: 'cleared', first: 512, last: 8_796_093_022_207 },
        ],
        nextMarker: 'm&n',
      }).toString(),
      `${declaration}<PageList><PageRange><Start>0</Start><End>511</End></PageRange>` +
        '<ClearRange><Start>512</Start><End>8796093022207</End></ClearRange>' +
        '<NextMarker>m&amp;n</NextMarker></PageList>',
    );
  });
});
