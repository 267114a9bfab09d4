import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import type { CorsRule } from '../../model/resources/service-properties.js';
import { parseCors, renderCors } from './cors-rules.js';
import { parseXml } from './reader.js';

interface RuleTexts {
  readonly AllowedOrigins?: string;
  readonly AllowedMethods?: string;
  readonly MaxAgeInSeconds?: string;
  readonly ExposedHeaders?: string;
  readonly AllowedHeaders?: string;
}

const usual: RuleTexts = {
  AllowedOrigins: '*',
  AllowedMethods: 'GET',
  MaxAgeInSeconds: '0',
  ExposedHeaders: '',
  AllowedHeaders: '',
};

function ruleXml(texts: RuleTexts): string {
  const children = Object.entries({ ...usual, ...texts }).map(
    ([name, text]) => `<${name}>${text}</${name}>`,
  );
  return `<CorsRule>${children.join('')}</CorsRule>`;
}

function parse(...rules: readonly string[]): readonly CorsRule[] {
  return parseCors(parseXml(Buffer.from(`<Cors>${rules.join('')}</Cors>`)));
}

/** The code and the details of a refusal. */
function refusal(...rules: readonly string[]): readonly unknown[] {
  let error: unknown;
  try {
    parse(...rules);
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof StorageError, rules.join(''));
  const details = Object.fromEntries(error.details);
  return [error.code, details['XmlNodeName'] ?? details['Reason'], details['XmlNodeValue']];
}

function numbered(count: number, prefix = 'h'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

describe('CORS rules', () => {
  it('are read with white space around the members of lists', () => {
    const rule = ruleXml({
      AllowedOrigins: ' http://a.example , http://b.example ',
      AllowedMethods: 'GET, PUT',
      MaxAgeInSeconds: '500',
      ExposedHeaders: 'x-ms-meta-data*,x-ms-meta-customheader',
      AllowedHeaders: '*',
    });
    assert.deepEqual(parse(rule), [
      {
        allowedOrigins: ['http://a.example', 'http://b.example'],
        allowedMethods: ['GET', 'PUT'],
        allowedHeaders: ['*'],
        exposedHeaders: ['x-ms-meta-data*', 'x-ms-meta-customheader'],
        maxAgeSeconds: 500,
      },
    ]);
  });

  it('are none when the element is empty', () => {
    assert.deepEqual(parse(), []);
  });

  it('are five at most', () => {
    const rules = Array.from({ length: 6 }, () => ruleXml({}));
    assert.equal(parse(...rules.slice(1)).length, 5);
    assert.deepEqual(refusal(...rules), [
      'InvalidXmlDocument',
      'There are 6 rules; at most 5 are allowed.',
      undefined,
    ]);
  });

  it('have 2,048 bytes of text at most, tags aside', () => {
    const others = '*'.length + 'GET'.length + '0'.length;
    const filled = (bytes: number) => {
      const names = Array.from({ length: 8 }, () => 'a'.repeat(254)).join(',');
      return names + ','.concat('b'.repeat(bytes - names.length - 1 - others));
    };
    assert.equal(parse(ruleXml({ AllowedHeaders: filled(2_048) })).length, 1);
    assert.deepEqual(refusal(ruleXml({ AllowedHeaders: filled(2_049) })), [
      'InvalidXmlDocument',
      'The rules have 2049 bytes; at most 2048 are allowed.',
      undefined,
    ]);
  });

  it('have all five elements, each once, and no other', () => {
    for (const name of Object.keys(usual)) {
      const without = ruleXml({}).replace(new RegExp(`<${name}>.*</${name}>`), '');
      assert.deepEqual(refusal(without), ['MissingRequiredXmlNode', name, undefined]);
    }
    const withOther = ruleXml({}).replace('</CorsRule>', '<Other/></CorsRule>');
    assert.deepEqual(refusal(withOther), ['UnsupportedXmlNode', 'Other', undefined]);
    assert.deepEqual(refusal('<Rule/>'), ['UnsupportedXmlNode', 'Rule', undefined]);
    const twice = ruleXml({}).replace(
      '</CorsRule>',
      '<AllowedMethods>PUT</AllowedMethods></CorsRule>',
    );
    assert.equal(refusal(twice)[0], 'InvalidXmlDocument');
  });

  it('bound the members of their lists', () => {
    const origins = numbered(64).join(',');
    const headers = numbered(64, 'n').join(',');
    parse(ruleXml({ AllowedOrigins: origins }));
    parse(ruleXml({ AllowedHeaders: `${headers},x*,y*` }));
    parse(ruleXml({ AllowedOrigins: 'o'.repeat(256) }));
    for (const [name, text] of [
      ['AllowedOrigins', `${origins},z`],
      ['AllowedOrigins', ''],
      ['AllowedMethods', ''],
      ['AllowedHeaders', `${headers},z`],
      ['ExposedHeaders', 'x*,y*,z*'],
    ] as const) {
      assert.deepEqual(refusal(ruleXml({ [name]: text })), ['InvalidXmlNodeValue', name, text]);
    }
  });

  it('hold nothing that could not stand in a header', () => {
    for (const [name, text, member] of [
      ['AllowedOrigins', 'http://a,,http://b', ''],
      ['AllowedOrigins', 'http://a b', 'http://a b'],
      ['AllowedOrigins', 'a\nb', 'a\nb'],
      ['AllowedOrigins', 'http://é', 'http://é'],
      ['AllowedOrigins', 'o'.repeat(257), 'o'.repeat(257)],
      ['AllowedHeaders', 'a:b', 'a:b'],
      ['AllowedHeaders', 'a,', ''],
      ['ExposedHeaders', 'a\n\tb', 'a\n\tb'],
      ['ExposedHeaders', 'h'.repeat(257), 'h'.repeat(257)],
      ['AllowedMethods', 'GET,get', 'get'],
      ['AllowedMethods', 'TRACE', 'TRACE'],
    ] as const) {
      assert.deepEqual(refusal(ruleXml({ [name]: text })), ['InvalidXmlNodeValue', name, member]);
    }
  });

  it('have an age in whole seconds', () => {
    assert.equal(
      parse(ruleXml({ MaxAgeInSeconds: ' 2147483647 ' }))[0]?.maxAgeSeconds,
      2 ** 31 - 1,
    );
    for (const text of ['', '-1', '1.5', '2147483648', '0x10', '1e3', '٣', '9'.repeat(400)]) {
      assert.deepEqual(refusal(ruleXml({ MaxAgeInSeconds: text })), [
        'InvalidXmlNodeValue',
        'MaxAgeInSeconds',
        text,
      ]);
    }
  });

  it('are read back as they are written', () => {
    const members = (pattern: RegExp, minLength: number) =>
      fc.array(fc.stringMatching(pattern), { minLength, maxLength: 3 });
    const rule = fc.record(
      {
        allowedOrigins: members(/^(\*|https?:\/\/[a-z]{1,8}(:\d{2})?)$/, 1),
        allowedMethods: fc.subarray(['DELETE', 'GET', 'MERGE', 'PATCH', 'PUT'], { minLength: 1 }),
        allowedHeaders: members(/^[a-z'&-]{1,9}$/, 0),
        exposedHeaders: members(/^x-[a-z]{0,9}$/, 0),
        maxAgeSeconds: fc.nat(),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), (rules) => {
        assert.deepEqual(parseCors(parseXml(Buffer.from(renderCors(rules)))), rules);
      }),
    );
  });
});
