import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { etagText } from '../blobs/etag.js';
import {
  renderContainerList,
  type ListedContainer,
  type RenderedContainerList,
} from './blob-container-list.js';

const modifiedMicros = 1_580_961_253_000_000;
const container: ListedContainer = {
  name: 'c1',
  modifiedMicros,
  lease: { status: 'unlocked', state: 'available' },
  publicAccess: 'none',
  metadata: [['Key', 'a&b']],
  hasImmutableStorage: false,
};

function render(list: Partial<RenderedContainerList>): string {
  const all = {
    endpoint: 'http://h/a/',
    version: '2021-12-02',
    showsMetadata: false,
    containers: [container],
    ...list,
  };
  return renderContainerList(all).toString();
}

describe('a list of containers', () => {
  it('shows a container that is private and free', () => {
    assert.equal(
      render({}),
      '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://h/a/">' +
        '<Containers><Container><Name>c1</Name><Properties>' +
        '<Last-Modified>Thu, 06 Feb 2020 03:54:13 GMT</Last-Modified>' +
        `<Etag>&quot;${etagText(modifiedMicros)}&quot;</Etag>` +
        '<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>' +
        '<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>' +
        '<ImmutableStorageWithVersioningEnabled>false</ImmutableStorageWithVersioningEnabled>' +
        '</Properties></Container></Containers><NextMarker /></EnumerationResults>',
    );
  });

  it('shows what was asked for, access and leases', () => {
    const text = render({
      prefix: 'c',
      marker: 'm',
      maxResults: 2,
      nextMarker: '/a/c2',
      showsMetadata: true,
      containers: [
        {
          ...container,
          publicAccess: 'container',
          lease: { status: 'locked', state: 'leased', duration: 'infinite' },
        },
      ],
    });
    assert.ok(text.includes('<Prefix>c</Prefix><Marker>m</Marker><MaxResults>2</MaxResults>'));
    assert.ok(text.includes('<LeaseState>leased</LeaseState><LeaseDuration>infinite'));
    assert.ok(text.includes('<PublicAccess>container</PublicAccess>'));
    assert.ok(text.includes('</Properties><Metadata><Key>a&amp;b</Key></Metadata></Container>'));
    assert.ok(text.includes('<NextMarker>/a/c2</NextMarker>'));
  });

  it('shows containers that were deleted', () => {
    const deleted = { version: '01D6', timeMicros: modifiedMicros, remainingDays: 7 };
    const text = render({ containers: [{ ...container, deleted }] });
    assert.ok(text.includes('<Name>c1</Name><Deleted>true</Deleted><Version>01D6</Version>'));
    assert.ok(text.includes('</DeletedTime><RemainingRetentionDays>7</RemainingRetentionDays>'));
  });

  it('says whether containers have immutable storage, in versions that know it', () => {
    const containers = [{ ...container, hasImmutableStorage: true }];
    const element = 'ImmutableStorageWithVersioningEnabled';
    assert.ok(render({ containers }).includes(`<${element}>true</${element}>`));
    assert.ok(!render({ containers, version: '2020-04-08' }).includes(element));
  });

  it('has the form of old versions', () => {
    const containers = [{ ...container, publicAccess: 'blob' as const }];
    const old = render({ version: '2012-02-12', containers });
    assert.ok(old.includes('AccountName="http://h/a/"'));
    assert.ok(old.includes('<Name>c1</Name><Url>http://h/a/c1</Url>'));
    assert.ok(!old.includes('PublicAccess'));
    const at = (version: string) => render({ version, containers });
    assert.ok(at('2016-05-31').includes('<PublicAccess>blob</PublicAccess>'));
    assert.ok(!at('2015-12-11').includes('PublicAccess'));
    assert.ok(at('2013-08-15').includes('ServiceEndpoint="http://h/a/"'));
    assert.ok(!at('2013-08-15').includes('<Url>'));
    assert.ok(render({ containers: [] }).includes('<Containers /><NextMarker />'));
  });
});
