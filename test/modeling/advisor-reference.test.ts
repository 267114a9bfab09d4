import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findingTexts } from '../../src/modeling/advisor/findings/finding-texts.js';
import { examplePrices } from '../../src/modeling/advisor/index.js';

// The reference of the advisor's findings must agree with the findings.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(`${root}docs/reference/modeling-advisor.md`, 'utf8');

describe('the reference of the advisor', () => {
  it('has a row for every finding', () => {
    const [, table = ''] = page.split('## Findings');
    const codes = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, code = '']) => code);
    assert.deepEqual(codes.toSorted(), Object.keys(findingTexts).toSorted());
  });

  it('tells the prices of the example, and that they are one', () => {
    const [capacity] = examplePrices.capacity;
    assert.ok(page.includes(`${capacity?.perGibMonth} USD for a GiB`));
    assert.ok(page.includes(`${examplePrices.per10kRequests.read} USD for 10,000 requests`));
    assert.match(page, /They are not today's prices\./);
  });
});
