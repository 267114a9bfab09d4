import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CorsRule } from '../../model/resources/service-properties.js';
import { crossOriginHeaders } from './answer-headers.js';
import { decidingRule, headerCover } from './deciding-rule.js';

function ruleOf(rule: Partial<CorsRule>): CorsRule {
  return {
    allowedOrigins: ['http://a.example'],
    allowedMethods: ['GET'],
    allowedHeaders: [],
    exposedHeaders: [],
    maxAgeSeconds: 0,
    ...rule,
  };
}

describe('the rule that decides about a request', () => {
  const first = ruleOf({});
  const second = ruleOf({ allowedOrigins: ['http://b.example', 'http://a.example'] });
  const any = ruleOf({ allowedOrigins: ['*'], allowedMethods: ['PUT', 'GET'] });
  const choose = (origin: string | undefined, method: string, ...rules: CorsRule[]) =>
    rules.indexOf(decidingRule(rules, { origin, method }) ?? ruleOf({}));

  it('is the first that has both origin and method', () => {
    assert.equal(choose('http://a.example', 'GET', first, second, any), 0);
    assert.equal(choose('http://b.example', 'GET', first, second, any), 1);
    assert.equal(choose('http://a.example', 'GET', any, first), 0);
    assert.equal(choose('http://a.example', 'PUT', first, second, any), 2);
    assert.equal(choose('http://a.example', 'DELETE', first, second, any), -1);
  });

  it('spells the origin as the browser does', () => {
    for (const origin of [
      'http://A.example',
      'https://a.example',
      'http://a.example:80',
      'http://a.example/',
      'http://sub.a.example',
      'null',
      '',
    ]) {
      assert.equal(choose(origin, 'GET', first), -1, origin);
      assert.equal(choose(origin, 'GET', any), 0, origin);
    }
  });

  it('knows no patterns of hosts', () => {
    const pattern = ruleOf({ allowedOrigins: ['http://*.a.example'] });
    assert.equal(choose('http://sub.a.example', 'GET', pattern), -1);
  });

  it('has the method in the same case', () => {
    assert.equal(choose('http://a.example', 'get', first), -1);
  });

  it('of a request without origin is one for any origin', () => {
    assert.equal(choose(undefined, 'GET', first, any), 1);
    assert.equal(choose(undefined, 'GET', first), -1);
  });
});

describe('a header in a list of a rule', () => {
  for (const [member, name, covered] of [
    ['x-ms-date', 'X-MS-Date', true],
    ['X-MS-Date', 'x-ms-date', true],
    ['x-ms-date', 'x-ms-date2', false],
    ['x-ms-*', 'X-Ms-Meta-a', true],
    ['X-MS-*', 'x-ms-meta-a', true],
    ['x-ms-*', 'x-m', false],
    ['*', 'anything', true],
    ['x*s', 'xs', false],
    ['x*s', 'x*s', true],
  ] as const) {
    it(`${member} ${covered ? 'covers' : 'does not cover'} ${name}`, () => {
      assert.equal(headerCover(['unlike', member])(name), covered);
    });
  }
});

describe('what an answer says to browsers', () => {
  const sent = ['ETag', 'W/"1"', 'x-ms-version', '2021-12-02', 'x-ms-meta-A', '1', 'Date', 'today'];
  const said = (rule: Partial<CorsRule>, origin: string | undefined, method = 'GET') => {
    const all = ruleOf({ allowedMethods: ['GET', 'HEAD', 'PUT'], ...rule });
    const flat = crossOriginHeaders([all], { origin, method }, sent);
    return flat.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${flat[index + 1]}`] : []));
  };
  const credentials = 'Access-Control-Allow-Credentials: true';
  const any = { allowedOrigins: ['*'] };

  // The table of queue-service §10.3.
  for (const [what, rule, origin, expected] of [
    ['no origin, a listed one', {}, undefined, ['Vary: Origin']],
    ['no origin, any', any, undefined, ['Access-Control-Allow-Origin: *']],
    [
      'the listed origin',
      {},
      'http://a.example',
      ['Access-Control-Allow-Origin: http://a.example', credentials, 'Vary: Origin'],
    ],
    ['another origin', {}, 'http://b.example', ['Vary: Origin']],
    ['an origin, any', any, 'http://b.example', ['Access-Control-Allow-Origin: *']],
    [
      'a listed origin beside any',
      { allowedOrigins: ['http://a.example', '*'] },
      'http://a.example',
      ['Access-Control-Allow-Origin: *'],
    ],
  ] as const) {
    it(`with ${what}`, () => {
      assert.deepEqual(said(rule, origin), expected);
      assert.deepEqual(said(rule, origin, 'HEAD'), expected);
      const unvaried = expected.filter((line) => line !== 'Vary: Origin');
      assert.deepEqual(said(rule, origin, 'PUT'), unvaried);
    });
  }

  const exposed = (...exposedHeaders: string[]) => {
    const lines = said({ ...any, exposedHeaders }, 'http://a.example');
    return lines.find((line) => line.startsWith('Access-Control-Expose-Headers: '))?.slice(31);
  };

  it('exposes names as the rule spells them, there or not', () => {
    assert.equal(exposed('etag', 'x-none'), 'etag,x-none');
  });

  it('exposes what a prefix stands for in this answer, once', () => {
    assert.equal(exposed('X-MS-*'), 'x-ms-version,x-ms-meta-A');
    assert.equal(exposed('x-ms-*', 'X-Ms-Version', 'x-ms-meta-*'), 'X-Ms-Version,x-ms-meta-A');
    assert.equal(exposed('*'), 'ETag,x-ms-version,x-ms-meta-A,Date');
    assert.equal(exposed('none-*'), undefined);
  });

  it('exposes the date, which is added to every answer', () => {
    const rules = [ruleOf({ ...any, exposedHeaders: ['da*'] })];
    const flat = crossOriginHeaders(rules, { origin: 'null', method: 'GET' }, []);
    assert.deepEqual(flat.slice(2), ['Access-Control-Expose-Headers', 'Date']);
  });
});
