import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { allMutants, draw, sameMutant, sourceFiles, type Mutant } from './mutants.js';

const source = `
import { invariant, other } from './other.js';
type Name = 'a' | 'b';
const texts: Record<string, number> = { 'x-ms-version': 1, length: 0 };
export async function pick(names: Name[], limit: number): Promise<string | undefined> {
  invariant(names.length > 0, 'no names');
  if (limit >= 3 && !names.includes('b')) await other(limit, names.length);
  const rest = names.some((name) => name === 'a') ? limit + 1 : (texts['x'] ?? 0);
  if (/^a+$/.test(names.join())) throw new Error('this text is one that people read');
  return rest === 2 ? \`rest=\${rest}\` : undefined;
}
`;

/** All mutants of the source above, in order of position. */
const expected = [
  '4 number: 1 → (1 + 1)',
  '4 number: 0 → (0 + 1)',
  "7 condition: limit >= 3 && !names.includes('b') → !(limit >= 3 && !names.includes('b'))",
  '7 logic: && → ||',
  '7 boundary: >= → >',
  '7 number: 3 → (3 + 1)',
  "7 negation: !names.includes('b') → names.includes('b')",
  "7 string: 'b' → 'b~'",
  '7 statement: await other(limit, names.length); → ;',
  '7 await: await other(limit, names.length) → other(limit, names.length)',
  '7 arguments: limit, names.length → names.length, limit',
  "8 condition: names.some((name) => name === 'a') → !(names.some((name) => name === 'a'))",
  '8 method: some → every',
  '8 equality: === → !==',
  "8 string: 'a' → 'a~'",
  '8 arithmetic: + → -',
  '8 number: 1 → (1 + 1)',
  "8 fallback: texts['x'] ?? 0 → 0",
  "8 string: 'x' → 'x~'",
  '8 number: 0 → (0 + 1)',
  '9 condition: /^a+$/.test(names.join()) → !(/^a+$/.test(names.join()))',
  '9 pattern: /^a+$/ → /a+$/',
  '9 pattern: /^a+$/ → /^a+/',
  "9 statement: throw new Error('this text is one that people read'); → ;",
  '10 result: rest === 2 ? `rest=${rest}` : undefined → undefined',
  '10 equality: === → !==',
  '10 number: 2 → (2 + 1)',
  '10 template: `rest=${ → `${',
];

describe('mutants', () => {
  const root = mkdtempSync(join(tmpdir(), 'mutants-'));
  let mutants: readonly Mutant[] = [];
  before(() => {
    for (const layer of ['wire', 'services', 'http', 'engines']) {
      mkdirSync(join(root, 'src', layer), { recursive: true });
    }
    writeFileSync(join(root, 'src/wire/pick.ts'), source);
    writeFileSync(join(root, 'src/wire/pick.test.ts'), source);
    const options = { noLib: true, types: [] };
    const config = { compilerOptions: options, include: ['src'] };
    writeFileSync(join(root, 'tsconfig.json'), JSON.stringify(config));
    mutants = allMutants(root, sourceFiles(root, []));
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  it('break behaviour, and no types, imports, invariants and sentences', () => {
    assert.deepEqual(sourceFiles(root, []), ['src/wire/pick.ts']);
    assert.deepEqual(
      mutants.map(({ line, operator, before, text }) => `${line} ${operator}: ${before} → ${text}`),
      expected,
    );
  });

  it('are drawn by the seed, one a line', () => {
    const drawn = [...draw(mutants, 7)];
    assert.deepEqual(drawn, [...draw(mutants, 7)]);
    assert.notDeepEqual(drawn, [...draw(mutants, 8)]);
    assert.deepEqual(
      drawn.map(({ line }) => line).sort((a, b) => a - b),
      [4, 7, 8, 9, 10],
    );
  });

  it('are found again in a source that has moved, and not in a line that has changed', () => {
    const [wanted] = mutants;
    assert.ok(wanted !== undefined);
    const moved = sameMutant(mutants, { ...wanted, line: 40, start: 900, end: 901 });
    assert.deepEqual(moved, wanted);
    const changed = sameMutant(mutants, { ...wanted, lineText: 'return 2;' });
    assert.equal(changed, undefined);
  });
});
