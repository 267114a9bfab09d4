import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { failsWith } from '../../../test/support/table-services.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { checkMetadata, sameMetadata } from './metadata.js';

describe('metadata', () => {
  const legal: readonly (readonly [string, Metadata])[] = [
    ['nothing', []],
    [
      'identifiers',
      [
        ['colour', 'blue'],
        ['_Size2', ''],
        ['A', 'x y'],
      ],
    ],
    ['8 KiB', [['a', 'v'.repeat(8191)]]],
    [
      '8 KiB in several values',
      [
        ['ab', 'ü'.repeat(2047)],
        ['cd', 'v'.repeat(4094)],
      ],
    ],
  ];
  for (const [what, metadata] of legal) {
    it(`may be ${what}`, () => checkMetadata(metadata));
  }

  const refused: readonly (readonly [string, Metadata, Parameters<typeof failsWith>[0]])[] = [
    ['an empty name', [['', 'x']], 'EmptyMetadataKey'],
    ['a dash', [['a-b', 'x']], 'InvalidMetadata'],
    ['a digit in front', [['1a', 'x']], 'InvalidMetadata'],
    ['a name with a line break behind it', [['a\n', 'x']], 'InvalidMetadata'],
    [
      'names that differ only in case',
      [
        ['Colour', 'x'],
        ['b', 'x'],
        ['colouR', 'x'],
      ],
      'InvalidMetadata',
    ],
    [
      'a name twice',
      [
        ['a', 'x'],
        ['a', 'x'],
      ],
      'InvalidMetadata',
    ],
    ['more than 8 KiB', [['a', 'v'.repeat(8192)]], 'MetadataTooLarge'],
    ['more than 8 KiB in UTF-8', [['ab', 'ü'.repeat(4096)]], 'MetadataTooLarge'],
  ];
  for (const [what, metadata, code] of refused) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => checkMetadata(metadata), failsWith(code));
    });
  }

  it('is refused with the name that is wrong', () => {
    assert.throws(
      () =>
        checkMetadata([
          ['ok', ''],
          ['not-ok', ''],
        ]),
      /'not-ok'/,
    );
    assert.throws(
      () =>
        checkMetadata([
          ['twice', ''],
          ['TWICE', ''],
        ]),
      /'TWICE'/,
    );
  });
});

const ordinal = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);

describe('metadata is the same', () => {
  const name = fc.stringMatching(/^[a-d]{1,2}$/);
  const pairs = fc.uniqueArray(fc.tuple(name, fc.constantFrom('', 'x', 'X')), {
    selector: ([key]) => key,
  });

  it('in any order and case of names', () => {
    fc.assert(
      fc.property(
        pairs.chain((all) =>
          fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
        ),
        ([left, right]) => {
          const shouted = right.map(([key, value]) => [key.toUpperCase(), value] as const);
          assert.ok(sameMetadata(left, shouted));
          assert.ok(sameMetadata(shouted, left));
        },
      ),
    );
  });

  it('exactly when names and values are', () => {
    const text = (metadata: Metadata) =>
      JSON.stringify(metadata.map((pair) => pair.join('=')).sort(ordinal));
    fc.assert(
      fc.property(pairs, pairs, (left, right) => {
        assert.equal(sameMetadata(left, right), text(left) === text(right));
      }),
    );
  });

  it('never with another value, or one pair more', () => {
    assert.ok(!sameMetadata([['a', 'x']], [['a', 'X']]));
    assert.ok(
      !sameMetadata(
        [['a', 'x']],
        [
          ['a', 'x'],
          ['b', 'x'],
        ],
      ),
    );
    assert.ok(!sameMetadata([], [['a', '']]));
  });
});
