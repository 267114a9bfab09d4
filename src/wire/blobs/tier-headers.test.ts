import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accessTierHeader, rehydratePriorityHeader } from './tier-headers.js';

const lookup = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name];
const tier = (text: string, version = '2021-12-02') =>
  accessTierHeader(lookup({ 'x-ms-access-tier': text }), version);
const refused = { code: 'InvalidHeaderValue' };

describe('the tier of a request', () => {
  it('is one of the tiers, in any case, or none', () => {
    assert.equal(tier('Hot'), 'Hot');
    assert.equal(tier('archive'), 'Archive');
    assert.equal(tier('p4'), 'P4');
    assert.equal(
      accessTierHeader(() => undefined, '2021-12-02'),
      undefined,
    );
    for (const text of ['', 'Warm', 'P5', 'constructor']) assert.throws(() => tier(text), refused);
  });

  it('is Cold from a version on', () => {
    assert.equal(tier('Cold'), 'Cold');
    assert.throws(() => tier('Cold', '2021-10-04'), refused);
  });

  it('comes with a priority', () => {
    const priority = (text: string) =>
      rehydratePriorityHeader(lookup({ 'x-ms-rehydrate-priority': text }));
    assert.equal(priority('high'), 'High');
    assert.throws(() => priority('Low'), refused);
    assert.equal(
      rehydratePriorityHeader(() => undefined),
      undefined,
    );
  });
});
