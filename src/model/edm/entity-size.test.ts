import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entitySize } from './entity-size.js';
import { propertyBagOf } from '../bag/bag.js';
import type { EdmValue, Property } from './value.js';

function sizeOf(partitionKey: string, rowKey: string, properties: readonly Property[]): number {
  return entitySize(partitionKey, rowKey, propertyBagOf(properties).propertyBytes);
}

const sizes: readonly [EdmValue, number][] = [
  [{ type: 'Edm.String', value: '日b' }, 8],
  [{ type: 'Edm.Int32', value: 1 }, 4],
  [{ type: 'Edm.Int64', value: 1n }, 8],
  [{ type: 'Edm.Double', value: 1 }, 8],
  [{ type: 'Edm.Boolean', value: true }, 1],
  [{ type: 'Edm.DateTime', value: 504_911_232_000_000_000n }, 8],
  [{ type: 'Edm.Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' }, 16],
  [{ type: 'Edm.Binary', value: Buffer.alloc(5) }, 9],
];

describe('the size of an entity', () => {
  it('is that of the worked example', () => {
    assert.equal(
      sizeOf('p', "O'Neil", [
        { name: 'n', value: { type: 'Edm.Int32', value: 5 } },
        { name: 'd', value: { type: 'Edm.Double', value: 3 } },
        { name: 'big', value: { type: 'Edm.Int64', value: 9_007_199_254_740_993n } },
      ]),
      72,
    );
  });

  for (const [value, size] of sizes) {
    it(`counts ${size} bytes for such an ${value.type}`, () => {
      assert.equal(sizeOf('', '', [{ name: 'xyz', value }]), 4 + 8 + 6 + size);
    });
  }
});
