import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { placementRules } from '../../src/modeling/advisor/placement/review-placement.js';
import { ManagedMap } from '../../src/modeling/patterns/shard-map-manager/managed-map.js';
import { MapOperations } from '../../src/modeling/patterns/shard-map-manager/map-operations.js';
import { ShardMapManager } from '../../src/modeling/patterns/shard-map-manager/shard-map-manager.js';
import { MapRecovery } from '../../src/modeling/patterns/shard-map/map-recovery.js';
import { ShardMap } from '../../src/modeling/patterns/shard-map/shard-map.js';
import { sampled, costly } from '../support/run-length.js';
import { guidanceSentences } from './guidance-sentences.js';

// The guide to partitioning, and its programs that need no server.

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const page = read('docs/guides/partitioning.md');

function blocksOf(language: string): readonly string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...page.matchAll(pattern)].map(([, code = '']) => code);
}

describe('the guide to partitioning', () => {
  for (const file of sampled(readdirSync(`${root}examples/placement`))) {
    it(`prints by ${file} what the page says`, costly(), async () => {
      const program = `${root}dist/examples/placement/${file.replace(/ts$/, 'js')}`;
      const { stdout } = await run(process.execPath, [program]);
      assert.ok(blocksOf('text').includes(stdout), stdout);
    });
  }

  it('has every rule of the review, with its severity', () => {
    const [, table = ''] = page.split('## Checklists');
    const rows = [...table.matchAll(/^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) +\| (\w+)/gm)];
    const told = rows.flatMap(([, ids = '', severity = '']) =>
      ids.split(', ').map((id) => `${id.slice(1, -1)} ${severity}`),
    );
    const rules = placementRules.map(({ id, severity }) => `${id} ${severity}`);
    assert.deepEqual(told.toSorted(), rules.toSorted());
  });

  it('shows nothing that is not in its programs', () => {
    const files = readdirSync(`${root}examples/placement`);
    const programs = files.map((file) => read(`examples/placement/${file}`)).join('');
    const blocks = blocksOf('ts');
    assert.ok(blocks.length > 2);
    for (const block of blocks) assert.ok(programs.includes(block), `not there:\n${block}`);
  });

  it('has each rule in the sentences that its findings name, and in no others', () => {
    for (const { id, guidance } of placementRules) {
      const naming = rowsOfSentences().filter(({ answer }) => answer.includes(`\`${id}\``));
      assert.ok(guidance.length > 0, id);
      assert.deepEqual(
        guidance,
        naming.map(({ number }) => number),
        id,
      );
    }
  });

  it('answers every sentence by something that is there', costly(), async () => {
    const rows = rowsOfSentences();
    const sentences = Object.entries(guidanceSentences).flatMap(([chapter, all]) =>
      all.map((sentence, at) => `${chapter}${at + 1} ${sentence}`),
    );
    const told = rows.map(({ number, asked }) => `${number} ${asked}`);
    assert.deepEqual(told.toSorted(), sentences.toSorted());
    const known = await knownNames();
    for (const { asked, kind, answer } of rows) {
      const names = [...answer.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      const absent = names.filter((name) => !known.has(name) && !options.has(name));
      assert.deepEqual(absent, [], asked);
      assert.ok(['feature', 'rule', 'decision'].includes(kind), `${asked}: ${kind}`);
      const isRule = names.some((name) => known.get(name) === 'rule');
      const isThere = names.some((name) => known.has(name)) || /\]\(/.test(answer);
      assert.ok(kind === 'rule' ? isRule : isThere, `${asked}: no ${kind}`);
      if (kind === 'decision') assert.match(answer, /\]\(#/, asked);
    }
  });
});

/** The rows of the table that answers the sentences of the guidance. */
function rowsOfSentences() {
  const [, table = ''] = page.split('## Sentence by sentence');
  const rows = table.matchAll(/^\| ([A-Z]+\d+) +\| ([^|]+?) +\| (\w+) +\| (.+?) +\|$/gm);
  return [...rows].map(([, number = '', asked = '', kind = '', answer = '']) => ({
    number,
    asked,
    kind,
    answer,
  }));
}

/** Words in answers that are values of options. */
const options: ReadonlySet<string> = new Set([
  'bytes',
  'bytesPerSecond',
  'connections',
  'databases',
  'partitionsLater',
  'units',
  'growth',
  'offline',
  'partial',
  'read-only',
  'verify',
]);

/** Everything that an answer may name: exports of the package, methods of maps, rules. */
async function knownNames(): Promise<ReadonlyMap<string, 'feature' | 'rule'>> {
  const known = new Map<string, 'feature' | 'rule'>();
  const manifest = JSON.parse(read('package.json')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  for (const [path, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string' || !/^\.\/(?:modeling|placement)/.test(path)) continue;
    const exported = (await import(`${root}${target.default}`)) as object;
    for (const name of Object.keys(exported)) known.set(name, 'feature');
  }
  const classes = { map: [ShardMap, ManagedMap], manager: [ShardMapManager] } as const;
  const others = { operations: [MapOperations], recovery: [MapRecovery] } as const;
  for (const [owner, all] of Object.entries({ ...classes, ...others })) {
    for (const each of all) {
      const names = Object.getOwnPropertyNames(each.prototype);
      for (const name of names) known.set(`${owner}.${name}`, 'feature');
    }
  }
  for (const field of ['map.table', 'map.recovery']) known.set(field, 'feature');
  for (const { id } of placementRules) known.set(id, 'rule');
  const advisor = read('docs/reference/modeling-advisor.md');
  for (const [, id = ''] of advisor.matchAll(/^\| `([a-z]+(?:-[a-z]+)+)`/gm)) known.set(id, 'rule');
  return known;
}
