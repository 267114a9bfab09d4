import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  namedTags,
  queryFinds,
  tagsMeet,
  type TagExpression,
  type TagOperator,
} from '../../model/blobs/tag-expression.js';
import type { Tags } from '../../model/blobs/tags.js';
import { parseTagCondition, parseTagQuery } from './tag-expression.js';

const condition = (text: string) => parseTagCondition('x-ms-if-tags', text);
const tags: Tags = [
  ['Project', 'Contoso'],
  ['due date', '2024-03-01'],
  ['n', '10'],
];

describe('the search for blobs by tags', () => {
  it('compares tags, bare or in quotes, and the container', () => {
    const query = parseTagQuery(
      `@container = 'c' AND "due date" >= '2024-01-01' and Project='Contoso'`,
      'account',
    );
    assert.deepEqual(query, {
      container: 'c',
      comparisons: [
        { kind: 'comparison', tag: 'due date', operator: '>=', value: '2024-01-01' },
        { kind: 'comparison', tag: 'Project', operator: '=', value: 'Contoso' },
      ],
    });
    assert.ok(queryFinds(query, 'c', tags));
    assert.ok(!queryFinds(query, 'd', tags));
    assert.deepEqual(namedTags(query, tags), tags.slice(0, 2));
  });

  it('is ordinal and with case, and needs the tag', () => {
    const finds = (text: string) => queryFinds(parseTagQuery(text, 'container'), 'c', tags);
    assert.ok(finds("n < '9'"));
    assert.ok(!finds("n < '10'"));
    assert.ok(!finds("n > '10'"));
    assert.ok(!finds("project = 'Contoso'"));
    assert.ok(!finds("Project = 'contoso'"));
    assert.ok(!finds("other < 'z'"));
    assert.ok(finds("n >= '10' AND n <= '10' AND n > '1' AND n < '2'"));
  });

  it('is refused with a reason', () => {
    const eleven = Array.from({ length: 11 }, (_, index) => `t${index} = 'x'`).join(' AND ');
    for (const text of [
      '',
      ' ',
      "a = 'b' OR c = 'd'",
      "a <> 'b'",
      "(a = 'b')",
      "NOT a = 'b'",
      'a = b',
      'a = "b"',
      "a 'b'",
      "a = 'b",
      "a = 'b' AND",
      "a = 'b' c = 'd'",
      "@container > 'c'",
      "@container = 'c' AND @container = 'd'",
      eleven,
    ]) {
      assert.throws(
        () => parseTagQuery(text, 'account'),
        (error: { code?: string; details?: readonly (readonly [string, string])[] }) => {
          assert.equal(error.code, 'InvalidQueryParameterValue', text);
          assert.deepEqual(error.details?.[0], ['QueryParameterName', 'where']);
          assert.equal(error.details[2]?.[0], 'Reason');
          return true;
        },
      );
    }
    assert.throws(() => parseTagQuery("@container = 'c'", 'container'), {
      code: 'InvalidQueryParameterValue',
    });
  });

  it('may compare a tag again and again', () => {
    const text = Array.from({ length: 30 }, () => "a > '1'").join(' AND ');
    assert.equal(parseTagQuery(text, 'account').comparisons.length, 30);
  });
});

describe('the condition on tags', () => {
  it('has or, which binds weaker than and, and parentheses', () => {
    const meets = (text: string) => tagsMeet(condition(text), tags);
    assert.ok(meets("n = '10' or n = '11' and n = '12'"));
    assert.ok(!meets("(n = '10' or n = '11') and n = '12'"));
    assert.ok(meets("n <> '11'"));
    assert.ok(!meets("other <> '11'"));
    assert.ok(meets(`"AND" = 'x' OR "n" = '10'`));
  });

  it('does not know containers, and has a bounded depth', () => {
    assert.throws(() => condition("@container = 'c'"), { code: 'InvalidHeaderValue' });
    const nested = (depth: number) => `${'('.repeat(depth)}a = 'b'${')'.repeat(depth)}`;
    assert.equal(condition(nested(32)).kind, 'comparison');
    assert.throws(() => condition(nested(33)), { code: 'InvalidHeaderValue' });
    assert.throws(() => condition(nested(10_000)), { code: 'InvalidHeaderValue' });
    assert.throws(() => condition("(a = 'b'"), { code: 'InvalidHeaderValue' });
    assert.throws(() => condition("a = 'b')"), { code: 'InvalidHeaderValue' });
  });

  it('is read as it was written', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab AND:='.split('')), maxLength: 6 });
    const comparison = fc.record<TagExpression & { kind: 'comparison' }>({
      kind: fc.constant('comparison'),
      tag: text,
      operator: fc.constantFrom<TagOperator>('=', '<>', '<', '<=', '>', '>='),
      value: text,
    });
    const { expression } = fc.letrec<{ expression: TagExpression }>((tie) => ({
      expression: fc.oneof(
        { maxDepth: 4 },
        comparison,
        fc.record({
          kind: fc.constantFrom('and' as const, 'or' as const),
          operands: fc.array(tie('expression'), { minLength: 2, maxLength: 3 }),
        }),
      ),
    }));
    fc.assert(
      fc.property(expression, fc.constantFrom(' ', '  ', '\t'), (written, space) => {
        assert.deepEqual(flat(condition(write(written, space))), flat(written));
      }),
    );
  });
});

/** An expression with parentheses around each group. */
function write(expression: TagExpression, space: string): string {
  if (expression.kind === 'comparison') {
    return `"${expression.tag}"${space}${expression.operator}'${expression.value}'`;
  }
  const joint = `${space}${expression.kind}${space}`;
  return `(${expression.operands.map((operand) => write(operand, space)).join(joint)})`;
}

/** The comparisons and groups as one list, to compare meanings whatever groups stand in groups. */
function flat(expression: TagExpression): unknown {
  if (expression.kind === 'comparison') {
    return [expression.tag, expression.operator, expression.value];
  }
  return [expression.kind, ...expression.operands.map(flat)];
}
