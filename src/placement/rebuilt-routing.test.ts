import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { rebuiltRouting, type RoutingKind, withTextAt } from './rebuilt-routing.js';
import {
  hashRouting,
  listRouting,
  rangeRouting,
  routingFault,
  shardOfText,
} from './shard-routing.js';

const kinds: readonly RoutingKind[] = [
  { kind: 'list' },
  { kind: 'list', otherwise: 'a' },
  { kind: 'range', first: 'a' },
  { kind: 'hash', slots: 4096, otherwise: 'a' },
];

describe('a rebuilt routing', () => {
  it('has every text where it was found', () => {
    const found = fc.uniqueArray(
      fc.record({ text: fc.string(), shard: fc.constantFrom('a', 'b', 'c') }),
      { selector: ({ text }) => text, minLength: 1 },
    );
    fc.assert(
      fc.property(found, (texts) => {
        for (const kind of kinds) {
          const routing = rebuiltRouting(texts, kind);
          if (typeof routing === 'string') {
            assert.equal(kind.kind, 'hash', routing);
            continue;
          }
          assert.equal(routingFault(routing), undefined);
          for (const { text, shard } of texts) assert.equal(shardOfText(routing, text), shard);
        }
      }),
    );
  });

  it('names no text of a list that is where all others are: they may be too many for a row', () => {
    const texts = ['a', 'b', 'c'].map((text) => ({ text, shard: text === 'b' ? 'east' : 'west' }));
    const routing = rebuiltRouting(texts, { kind: 'list', otherwise: 'west' });
    assert.deepEqual(routing, listRouting({ b: 'east' }, 'west'));
  });

  it('is refused where a text is in two places, and says which', () => {
    const twice = [
      { text: 'contoso', shard: 'a' },
      { text: 'contoso', shard: 'b' },
    ];
    for (const kind of kinds)
      assert.match(JSON.stringify(rebuiltRouting(twice, kind)), /'contoso'.*'a'.*'b'/);
    for (const kind of kinds)
      assert.doesNotMatch(JSON.stringify(rebuiltRouting(twice, kind)), /part/);
    const one = { kind: 'hash', slots: 1, otherwise: 'a' } as const;
    const other = [twice[0] ?? { text: '', shard: '' }, { text: 'fabrikam', shard: 'b' }];
    assert.match(JSON.stringify(rebuiltRouting(other, one)), /slot 0/);
  });

  it('says which of two places may have a part, when a map had begun to bring the text there', () => {
    const whole = { text: 'contoso', shard: 'a' };
    const part = { text: 'contoso', shard: 'b', begun: 'contoso-2024' };
    const hint =
      /'contoso-2024' is open on neither.*bring it to 'b', which may have.*if 'a' has all of them/;
    for (const found of [
      [whole, part],
      [part, whole],
    ]) {
      for (const kind of kinds) assert.match(JSON.stringify(rebuiltRouting(found, kind)), hint);
    }
    const both = [{ ...whole, begun: 'contoso-2024' }, part];
    for (const kind of kinds) {
      assert.doesNotMatch(JSON.stringify(rebuiltRouting(both, kind)), /part of/);
      assert.equal(typeof rebuiltRouting([part], kind), 'object');
    }
    const besides = [part, { text: 'contoso', shard: 'b' }, whole];
    assert.doesNotMatch(JSON.stringify(rebuiltRouting(besides, { kind: 'list' })), /part of/);
  });
});

describe('a routing with one text elsewhere', () => {
  it('changes nothing else, but in its slot', () => {
    const texts = ['', 'a', 'contoso', 'contoso\0', 'contosp', 'fabrikam', 'z'];
    const routings = [
      listRouting(Object.fromEntries(texts.map((text) => [text, 'a']))),
      rangeRouting([
        { from: '', shard: 'a' },
        { from: 'd', shard: 'b' },
      ]),
    ];
    for (const routing of routings) {
      const changed = withTextAt(routing, 'contoso', 'c');
      const places = texts.map((text) => shardOfText(changed, text));
      const before = texts.map((text) => (text === 'contoso' ? 'c' : shardOfText(routing, text)));
      assert.deepEqual(places, before);
    }
    const hash = withTextAt(hashRouting(['a', 'b'], 16), 'contoso', 'c');
    assert.equal(shardOfText(hash, 'contoso'), 'c');
  });
});
