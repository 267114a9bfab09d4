import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callTree, ownerOf, type CallNode } from './call-tree.js';
import { selfTimes, selfTimeTable, withoutScript, type CpuProfile } from './cpu-profile.js';
import { flameGraph } from './flame-graph.js';
import { partTable, partTimes } from './parts.js';

type Line = readonly [id: number, name: string, url: string, children: readonly number[]];

function profileOf(lines: readonly Line[], micros: Readonly<Record<number, number>>): CpuProfile {
  const samples = Object.keys(micros).map(Number);
  return {
    nodes: lines.map(([id, functionName, url, children]) => ({
      id,
      callFrame: { functionName, url, lineNumber: url === '' ? -1 : 9 },
      children,
    })),
    samples: [...samples, ...samples],
    timeDeltas: [...samples, ...samples].map((id) => (micros[id] ?? 0) / 2),
  };
}

const a = 'file:///app/dist/a.js';
const profile = profileOf(
  [
    [1, '(root)', '', [2, 3, 6, 8]],
    [2, '(idle)', '', []],
    [3, 'serve', a, [4, 5]],
    [4, 'read', 'node:fs', []],
    [5, '', a, []],
    // Compiled anew: the same function in the same place.
    [6, 'serve', a, [7]],
    [7, 'read', 'node:fs', []],
    [8, 'start', 'file:///app/dist/profiler.js', [9]],
    [9, 'serve', a, []],
  ],
  { 1: 70, 2: 5000, 3: 100, 4: 200, 5: 30, 6: 10, 7: 20, 8: 600, 9: 700 },
);

function shown({ name, owner, micros, children }: CallNode): unknown {
  return [name, owner, micros, ...children.map(shown)];
}

describe('a processor profile', () => {
  it('adds up self time by function, most first, without idle time', () => {
    assert.deepEqual(selfTimes(profile, '/app/'), [
      { name: 'serve dist/a.js:10', micros: 810 },
      { name: 'start dist/profiler.js:10', micros: 600 },
      { name: 'read node:fs:10', micros: 220 },
      { name: '(anonymous) dist/a.js:10', micros: 30 },
    ]);
    const table = selfTimeTable(
      [
        { name: 'f', micros: 3000 },
        { name: 'g', micros: 1000 },
      ],
      1,
    );
    assert.equal(table.split('\n').at(-1), '| 3 | 75.0 | f |');
  });

  it('can leave out a script and all that it called', () => {
    const rest = withoutScript(profile, 'file:///app/dist/profiler.js');
    assert.deepEqual(
      selfTimes(rest, '/app/').map(({ micros }) => micros),
      [220, 110, 30],
    );
    assert.equal(callTree(rest, 'main', '/app/').micros, 360);
  });

  it('is a tree of calls in which the same call in the same place is one', () => {
    const rest = withoutScript(profile, 'file:///app/dist/profiler.js');
    assert.deepEqual(shown(callTree(rest, 'main', '/app/')), [
      'main',
      'native',
      360,
      [
        'serve dist/a.js:10',
        'own',
        360,
        ['read node:fs:10', 'node', 220],
        ['(anonymous) dist/a.js:10', 'own', 30],
      ],
    ]);
  });

  it('tells whose code a function is', () => {
    const owner = (functionName: string, url: string): string =>
      ownerOf({ functionName, url, lineNumber: 0 });
    assert.equal(owner('f', 'file:///app/node_modules/lmdb/read.js'), 'dependency');
    assert.equal(owner('writev', ''), 'native');
    assert.equal(owner('(garbage collector)', ''), 'collector');
  });
});

describe('the parts of a profile', () => {
  it('are those of their folders, and of the caller where code is native or a helper of node', () => {
    const own = (path: string) => `file:///app/dist/src/${path}`;
    const parts = partTimes(
      profileOf(
        [
          [1, '(root)', '', [2, 3, 4, 11]],
          [2, '(idle)', '', []],
          [3, '(garbage collector)', '', []],
          [4, 'serve', own('http/pipeline/pipeline.js'), [5, 7, 9]],
          [5, 'append', own('engines/journal/journal.js'), [6]],
          [6, 'writeBuffer', '', []],
          [7, 'next', 'file:///app/node_modules/lmdb/read.js', [8]],
          [8, '', '', []],
          [9, 'slice', 'node:buffer', [10]],
          [10, 'latin1Slice', '', []],
          [11, 'writevGeneric', 'node:internal/stream_base_commons', [12]],
          [12, 'writev', '', []],
        ],
        { 1: 9, 2: 9_000, 3: 10, 4: 20, 5: 30, 6: 10, 7: 50, 8: 10, 9: 5, 10: 5, 11: 4, 12: 6 },
      ),
    );
    assert.deepEqual(
      parts.map(({ part, micros }) => [part, micros]),
      [
        ['data file', 60],
        ['journal', 40],
        ['pipeline and operations', 30],
        ['collecting garbage', 10],
        ['system calls that write answers', 6],
        ['requests and answers of node:http', 4],
      ],
    );
    assert.equal(partTable(parts).split('\n')[2], '| 40.0 | data file |');
  });
});

describe('a flame graph', () => {
  const leaf = (name: string, micros: number): CallNode => {
    return { name, owner: 'own', micros, children: [] };
  };
  const rects = (svg: string) =>
    [...svg.matchAll(/<title>([^:]+):.*?x="([\d.]+)" y="(\d+)" width="([\d.]+)"/g)].map(
      ([, name, x, y, width]) => ({ name, x: Number(x), y: Number(y), width: Number(width) }),
    );

  it('draws each call below the one that made it, as wide as its time', () => {
    const main = { ...leaf('main', 750), children: [leaf('f', 500), leaf('g', 100)] };
    const [first, f, g, other, ...rest] = rects(flameGraph('t', [main, leaf('thread', 250)]));
    assert.ok(first && f && g && other);
    assert.deepEqual([first.name, f.name, g.name, other.name], ['main', 'f', 'g', 'thread']);
    assert.equal(first.width, 1185);
    assert.deepEqual([f.x, f.width], [first.x, 790]);
    assert.deepEqual([g.x, g.width], [f.x + f.width, 158]);
    assert.deepEqual([other.x, other.y], [first.x + first.width, first.y]);
    assert.ok(f.y === g.y && f.y > first.y);
    assert.deepEqual(rest, []);
  });

  it('escapes names, cuts those that are too long for their frame, and leaves out slivers', () => {
    const long = 'x'.repeat(300);
    const svg = flameGraph('a < b', [leaf('<f> & g', 900), leaf(long, 100), leaf('sliver', 0.1)]);
    assert.ok(svg.includes('a &lt; b'));
    assert.ok(svg.includes('>&lt;f&gt; &amp; g</text>'));
    assert.match(svg, /<text[^>]*>x+…<\/text>/);
    assert.ok(svg.includes(`<title>${long}: 0.1 ms, 10.0 %</title>`));
    assert.ok(!svg.includes('sliver'));
  });

  it('is a document even without samples', () => {
    const svg = flameGraph('t', []);
    assert.match(svg, /^<svg [^>]*width="1600" height="74"/);
    assert.ok(!svg.includes('NaN'));
  });
});
