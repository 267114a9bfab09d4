import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import {
  requestRulesOf,
  lenientItemNames,
  strictRules,
  UnknownLenientItemError,
} from './request-rules.js';

describe('request rules', () => {
  it('allows nothing, all or what is named, whatever the order', () => {
    assert.deepEqual(requestRulesOf(false).items, []);
    assert.deepEqual(requestRulesOf([]).items, []);
    assert.deepEqual(requestRulesOf(true).items, lenientItemNames);
    assert.deepEqual(requestRulesOf(['top', 'clock', 'top']).items, ['clock', 'top']);
  });

  it('follows the cloud service where nothing is allowed', () => {
    assert.equal(strictRules.properties.countMax, 252);
    assert.equal(strictRules.properties.isName('a-b'), false);
    assert.deepEqual(strictRules.queries, { limitsTop: false, ignoresUnsupported: false });
  });

  it('loosens only what is named', () => {
    const loosened = requestRulesOf(['property-names']);
    const { items, properties } = strictRules;
    assert.deepEqual({ ...loosened, items, properties }, strictRules);
    assert.equal(loosened.properties.countMax, 252);
    assert.equal(loosened.properties.isName('a-b'), true);
  });

  it('cannot be changed', () => {
    const { queries, properties } = requestRulesOf(true);
    for (const part of [strictRules, queries, properties]) assert.ok(Object.isFrozen(part));
  });

  it('lists all items in the error for an unknown one', () => {
    for (const unknown of ['tops', '', 'toString', '__proto__']) {
      assert.throws(
        () => requestRulesOf(['top', unknown]),
        (error) => {
          assert.ok(error instanceof UnknownLenientItemError);
          for (const name of [...lenientItemNames, `'${unknown}'`]) {
            assert.ok(error.message.includes(name), error.message);
          }
          return true;
        },
      );
    }
  });

  it('has the items of the reference and of the schema of the configuration', async () => {
    const read = (path: string) =>
      readFile(new URL(`../../../../${path}`, import.meta.url), 'utf8');
    const page = await read('docs/reference/strictness.md');
    const rows = [...page.matchAll(/^\| `([a-z][a-z-]*)` +\|/gm)].map(([, name]) => name);
    assert.deepEqual(rows, lenientItemNames);
    const schema = JSON.parse(await read('schemas/config.schema.json')) as {
      readonly properties: { readonly lenient: { readonly items: { readonly enum: unknown } } };
    };
    assert.deepEqual(schema.properties.lenient.items.enum, lenientItemNames);
  });
});
