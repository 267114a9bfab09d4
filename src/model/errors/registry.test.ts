import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { ErrorDefinition } from './definition.js';
import { errorRegistry } from './registry.js';

const page = readFileSync(new URL('../../../../docs/reference/errors.md', import.meta.url), 'utf8');

const shapeNames = {
  'odata-json': 'JSON',
  'front-door-xml': 'front-door XML',
  'odata-xml': 'OData XML',
  'storage-xml': 'storage XML',
} as const;

/** One line for each row of the page's table, without its last column. */
function documented(): string[] {
  const rows = page.matchAll(
    /^\| `(\w+)`\s*\| (\d{3})\s*\| `([^|]+)`\s*\| ([^|]+?)\s*\| (\w+)\s*\| \S/gm,
  );
  return [...rows].map((row) => row.slice(1, 6).join(' / '));
}

function defined(): string[] {
  return Object.entries<ErrorDefinition>(errorRegistry).map(([code, definition]) => {
    const { status, message, shape, layer } = definition;
    return [code, status, message, shapeNames[shape], layer].join(' / ');
  });
}

describe('error registry', () => {
  it('is what the reference page says, both ways', () => {
    assert.deepEqual(documented().sort(), defined().sort());
  });

  it('has no two errors that a client of tables could not tell apart', () => {
    const seen = Object.entries<ErrorDefinition>(errorRegistry).map(
      ([code, { tableCode, status }]) => `${status} ${tableCode ?? code}`,
    );
    assert.equal(new Set(seen).size, seen.length);
  });
});
