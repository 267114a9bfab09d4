import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { plain, rowsUnder } from '../support/compatibility-page.js';

// Every header and parameter that the sources read is in docs/reference/compatibility.md, so that
// none is added without its row.

const root = new URL('../../../src/', import.meta.url);
const sources = ['http', 'wire']
  .flatMap((layer) =>
    readdirSync(new URL(`${layer}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .filter((name) => !/^(faults|control|throttle)\//.test(name))
      .map((name) => readFileSync(new URL(`${layer}/${name}`, root), 'utf8')),
  )
  .join('\n');

function matches(...patterns: readonly RegExp[]): string[] {
  const found = patterns.flatMap((pattern) =>
    [...sources.matchAll(pattern)].map(([, name = '']) => name),
  );
  return [...new Set(found)].toSorted();
}

function firstCells(...headings: readonly string[]): Set<string> {
  const cells = headings.flatMap(rowsUnder).flatMap(([name = '']) => plain(name).split(', '));
  return new Set(cells.map((name) => name.toLowerCase()));
}

describe('what sources read of a request', () => {
  it('has no header that the page does not have', () => {
    const read = matches(
      /\bheader\(\s*'([a-z0-9-]+)'/g,
      /\bheaders\.get\(\s*'([a-z0-9-]+)'/g,
      /rawHeaders[^;]*'([a-z0-9-]+)'/g,
    );
    assert.ok(read.length > 15, read.join(' '));
    const documented = firstCells('Request headers', 'Request headers of blobs');
    assert.deepEqual(
      read.filter((name) => !documented.has(name)),
      [],
    );
  });

  it('has no name of a header, however it is looked up or sent, that the page does not have', () => {
    const written = matches(/['"`](x-ms-[a-z0-9-]*[a-z0-9])['"`]/g);
    assert.ok(written.length > 80, written.join(' '));
    const documented = firstCells(
      'Request headers',
      'Request headers of blobs',
      'Response headers',
      'Response headers of blobs',
      'Bodies',
    );
    assert.deepEqual(
      written.filter((name) => !documented.has(name)),
      [],
    );
  });

  it('has no query parameter that the page does not have', () => {
    const read = matches(
      /\b(?:query|options|parameters|queryOptions|queryOptionsByLowerName)\.(?:get|has)\(\s*'([$\w-]+)'/g,
      /\b(?:filled|rangedInteger|required)\(\s*(?:options|query|parameters),\s*'([$\w-]+)'/g,
    );
    assert.ok(read.length > 25, read.join(' '));
    const documented = firstCells(
      'Query parameters of tables',
      'Query parameters of queues',
      'Query parameters of blobs',
      'Fields of signatures',
      'Fields of signatures of blobs',
    );
    assert.deepEqual(
      read.filter((name) => !documented.has(name.toLowerCase())),
      [],
    );
  });
});
