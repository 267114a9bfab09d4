import assert from 'node:assert/strict';
import { dirname, join, sep } from 'node:path';
import { describe, it } from 'node:test';
import { allFiles, readRepositoryFile as read } from './support/repository-files.js';

// Tests of style and architecture: rules that reviews need not repeat.

/**
 * The folders of `src`, from the bottom up, and what each may import besides itself. See
 * ARCHITECTURE.md, "Layers".
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  base: [],
  model: ['base'],
  kv: ['base'],
  content: ['base'],
  wire: ['base', 'model'],
  engines: ['base', 'kv'],
  partition: ['base', 'kv', 'placement'],
  services: ['base', 'model', 'kv', 'content'],
  http: ['base', 'model', 'wire', 'services'],
  app: ['base', 'model', 'kv', 'content', 'engines', 'partition', 'services', 'wire', 'http'],
  cli: ['base', 'model', 'wire', 'services', 'http', 'app'],
  placement: ['base'],
  modeling: ['base', 'placement'],
};

/**
 * The folders of `src/modeling`, from the bottom up; those on one line do not import each other.
 */
const modelingLayers: readonly (readonly string[])[] = [
  ['rows'],
  ['definition'],
  ['table'],
  ['worker', 'encryption'],
  ['patterns'],
  ['advisor', 'model'],
];

const lineColumnsMax = 100;
const fileLinesMax = 500;
const testLinesMax = 1000;

interface Import {
  readonly from: string;
  readonly to: string;
}

const typescript = allFiles.filter((file) => file.endsWith('.ts'));
const source = typescript.filter((file) => file.startsWith('src/'));
const isTest = (file: string) => file.endsWith('.test.ts') || file.startsWith('test/');
/** Parts of `src` that exist for tests of this project or of engines by others. */
const isForTests = (file: string) =>
  /^src\/(?:base|kv|content)\/conformance\//.test(file) || file === 'src/kv/partition-rule.ts';

function importsOf(file: string): Import[] {
  const pattern = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g;
  return [...read(file).matchAll(pattern)].map((match) => {
    const target = join(dirname(file), match[1] ?? '')
      .split(sep)
      .join('/');
    return { from: file, to: target.replace(/\.js$/, '.ts') };
  });
}

const imports = typescript.flatMap(importsOf);

function layerOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function isAllowed({ from, to }: Import): boolean {
  if (!to.startsWith('src/')) return false;
  if (layerOf(from) === layerOf(to)) return true;
  const inside = to.slice('src/'.length);
  return (layers[layerOf(from)] ?? []).some((allowed) => inside.startsWith(`${allowed}/`));
}

function describeImport({ from, to }: Import): string {
  const allowed = layers[layerOf(from)]?.join(', ') || 'nothing';
  return `${from} imports ${to}; ${layerOf(from)} may import ${allowed}`;
}

/** The folders in a cell of the table of layers; a dash stands for none. */
function importsToldIn(cell: string): string[] {
  return cell.trim() === '–' ? [] : cell.trim().split(', ').toSorted();
}

describe('architecture', () => {
  it('has a layer for every folder of src', () => {
    const folders = new Set(source.map(layerOf));
    assert.deepEqual(
      [...folders].filter((folder) => layers[folder] === undefined),
      [],
    );
  });

  it('is as the table of layers tells it', () => {
    const [, part = ''] = read('ARCHITECTURE.md').split('\n## Layers\n');
    const rows = part.matchAll(/^\| `(\w+)` +\|.*\| ([^|]+) \|$/gm);
    const told = Array.from(rows, ([, folder = '', cell = '']) => [folder, importsToldIn(cell)]);
    const sorted = Object.entries(layers).map(([folder, below]) => [folder, below.toSorted()]);
    assert.deepEqual(Object.fromEntries(told), Object.fromEntries(sorted));
  });

  it('has every folder of src in the code map, by its path or in the row of the folder above', () => {
    const map = read('ARCHITECTURE.md')
      .split('\n')
      .filter((line) => line.startsWith('| `src/'));
    const folders = new Set(source.map((file) => dirname(file).split(sep).join('/')));
    const isDescribed = (folder: string): boolean => {
      const [parent, name] = [dirname(folder), folder.split('/').at(-1) ?? ''];
      const above = map.filter((line) => line.includes(`\`${parent}/\``));
      return (
        map.some((line) => line.includes(`\`${folder}/\``)) ||
        above.some((line) => line.includes(`\`${name}\``) || line.includes(`\`${name}/\``))
      );
    };
    const bad = [...folders]
      .filter((folder) => folder.split('/').length > 2 && !/^src\/modeling\/\w+\//.test(folder))
      .filter((folder) => !isDescribed(folder));
    assert.deepEqual(bad.toSorted(), []);
  });

  it('imports only point down', () => {
    const bad = imports
      .filter(({ from }) => from.startsWith('src/') && !isTest(from))
      .filter((found) => !isAllowed(found));
    assert.deepEqual(bad.map(describeImport), []);
  });

  it('keeps services out of what they share', () => {
    const shared = ['src/http/exchange/', 'src/http/pipeline/'];
    const ofServices = /^src\/(?:services|http)\/(?:tables|queues|blobs)\//;
    const bad = imports
      .filter(({ from }) => shared.some((folder) => from.startsWith(folder)) && !isTest(from))
      .filter(({ to }) => ofServices.test(to));
    assert.deepEqual(bad, []);
    const signature = /'(?:user-delegation-)?(?:table|queue|blob)-sas'/;
    const naming = source
      .filter((file) => shared.some((folder) => file.startsWith(folder)) && !isTest(file))
      .filter((file) => signature.test(read(file)));
    assert.deepEqual(naming, []);
  });

  it('lets operations write nothing into the exchange', () => {
    const folders = [
      'src/http/operations/',
      'src/http/tables/',
      'src/http/queues/',
      'src/http/blobs/',
    ];
    const writing = /\bexchange\.\w+ (?:\+|-|\?\?)?= /;
    const bad = source
      .filter((file) => folders.some((folder) => file.startsWith(folder)) && !isTest(file))
      .filter((file) => writing.test(read(file)));
    assert.deepEqual(bad, []);
  });

  it('builds the folders of modeling on each other', () => {
    const levelOf = (file: string): number => {
      const folder = file.split('/')[2] ?? '';
      return modelingLayers.findIndex((folders) => folders.includes(folder));
    };
    const folderOf = (file: string) => file.split('/').slice(0, 3).join('/');
    const bad = imports
      .filter(({ from, to }) => [from, to].every((file) => file.startsWith('src/modeling/')))
      .filter(({ from }) => !isTest(from) && from !== 'src/modeling/index.ts')
      .filter(({ from, to }) => folderOf(from) !== folderOf(to) && levelOf(to) >= levelOf(from));
    assert.deepEqual(bad, []);
  });

  it('lets only the composition root import an engine or a content store', () => {
    const ofStores = /^src\/(?:engines|content\/(?:files|memory))\//;
    const bad = imports.filter(
      ({ from, to }) =>
        ofStores.test(to) &&
        layerOf(from) !== layerOf(to) &&
        !from.startsWith('src/app/') &&
        !isTest(from) &&
        !from.startsWith('bench/'),
    );
    assert.deepEqual(bad.map(describeImport), []);
  });

  it('writes to the engine, and ends processes, in the places that do it safely', () => {
    const places = {
      '\\.(?:childTransaction|transaction|transactionSync)\\(': [
        'src/engines/lmdb/write-transaction.ts',
      ],
      '\\bprocess\\.(?:exit|reallyExit|abort)\\(': [
        // Commands that start no server and write to no engine.
        'src/cli/start/process-end.ts',
        'src/cli/table-import.ts',
        'src/cli/terminal/closed-output.ts',
      ],
    };
    for (const [call, allowed] of Object.entries(places)) {
      const calling = new RegExp(call);
      const callers = source.filter((file) => !isTest(file) && calling.test(read(file)));
      assert.deepEqual(callers.toSorted(), allowed);
    }
  });

  it('backs off in the kit, and where the next attempt depends on more than the error', () => {
    const backingOff = source
      .filter((file) => !isTest(file) && !file.startsWith('src/base/async/'))
      .filter((file) => /\b(backOff|doubledDelay)\(|[^\w]2 \*\* \(/.test(read(file)));
    assert.deepEqual(backingOff.toSorted(), [
      'src/app/oauth/key-cache.ts',
      'src/cli/start/workers/restarts.ts',
      'src/engines/postgres/primary.ts',
      'src/modeling/patterns/indexes/index-updater.ts',
      'src/modeling/patterns/row-leases/row-leases.ts',
      'src/modeling/patterns/shard-map/partitions.ts',
      'src/modeling/table/bulk-sender.ts',
      'src/modeling/table/entities.ts',
      'src/modeling/worker/deliverer.ts',
      'src/modeling/worker/worker.ts',
      'src/partition/operations/operation-back-off.ts',
      'src/partition/store.ts',
    ]);
  });

  it('has no import cycle', () => {
    const graph = new Map<string, string[]>();
    for (const { from, to } of imports) graph.set(from, [...(graph.get(from) ?? []), to]);
    assert.deepEqual(findCycle(graph), []);
  });

  it('has no cycle of folders, of whatever length', () => {
    const folderOf = (file: string) => dirname(file).split(sep).join('/');
    const graph = new Map<string, string[]>();
    for (const { from, to } of imports) {
      if (!from.startsWith('src/') || isTest(from) || !to.startsWith('src/')) continue;
      const [folder, imported] = [folderOf(from), folderOf(to)];
      if (folder === imported) continue;
      graph.set(folder, [...(graph.get(folder) ?? []), imported]);
    }
    assert.deepEqual(findCycle(graph), []);
  });

  it('has no source file that nothing imports', () => {
    const entries = new Set([
      ...exportedSources(),
      'src/cli/main.ts',
      // The program of a process that a start runs.
      'src/engines/lmdb/lock-probe.ts',
    ]);
    const imported = new Set(
      imports.filter(({ from, to }) => !isTest(from) || isForTests(to)).map(({ to }) => to),
    );
    const orphans = source.filter(
      (file) => !isTest(file) && !entries.has(file) && !imported.has(file),
    );
    assert.deepEqual(orphans, []);
  });
});

/** The sources that the package exports. */
function exportedSources(): readonly string[] {
  const found = read('package.json').matchAll(/"default": "\.\/dist\/(src\/[^"]*)\.js"/g);
  return [...found].map(([, file = '']) => `${file}.ts`);
}

/** The files or folders of one cycle, or none. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next, [...path, file]);
      if (cycle.length > 0) return cycle;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

/** Programs of this repository; `extras` has what others wrote. */
const isProgram = (file: string) => /\.[jt]s$/.test(file) && !file.startsWith('extras/');
const isComment = (line: string) => /^\s*(?:\/\/|\/?\*)/.test(line);

/** Finds the places of such lines in a file. */
function linesOf(isMeant: (line: string) => boolean): (file: string) => string[] {
  return (file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (isMeant(line) ? [`${file}:${index + 1}`] : []));
}

describe('style', () => {
  it('names no file after nothing in particular', () => {
    const vague = /(^|\/)(utils?|helpers?|common|misc|shared)(\.|\/)/;
    assert.deepEqual(
      typescript.filter((file) => vague.test(file)),
      [],
    );
  });

  it('names files in kebab case', () => {
    const kebab =
      /^[a-z0-9]+(-[a-z0-9]+)*((\.long)?(\.extras|\.postgres)?\.test|\.test-d|\.d)?\.ts$/;
    assert.deepEqual(
      typescript.filter((file) => !kebab.test(file.split('/').at(-1) ?? '')),
      [],
    );
  });

  it('keeps files short', () => {
    const long = typescript
      .map((file) => ({ file, lines: read(file).split('\n').length }))
      .filter(({ file, lines }) => lines > (isTest(file) ? testLinesMax : fileLinesMax));
    assert.deepEqual(long, []);
  });

  it('keeps lines of source within the column limit, unless a text must stay whole', () => {
    const isLong = (line: string) =>
      line.length > lineColumnsMax && !isComment(line) && !/['"`]/.test(line);
    assert.deepEqual(source.flatMap(linesOf(isLong)), []);
  });

  it('keeps comments within the column limit, unless a URL must stay whole', () => {
    const isLong = (line: string) =>
      line.length > lineColumnsMax && isComment(line) && !/\bhttps?:\/\//.test(line);
    assert.deepEqual(allFiles.filter(isProgram).flatMap(linesOf(isLong)), []);
  });

  // The runner may call the hooks of the end when the suites so far are done. A server that a file
  // starts behind them is never closed then, and keeps the process alive for ever.
  it('awaits nothing at the top level of a test file behind its first suite', () => {
    const suite = /^(?:void )?(?:describe|it|test)\(/;
    const waiting = /^(?:await |(?:export )?const .*= await )/;
    const bad = typescript.filter(isTest).flatMap((file) => {
      const lines = read(file).split('\n');
      const first = lines.findIndex((line) => suite.test(line));
      const late = lines.slice(first + 1).findIndex((line) => waiting.test(line));
      return first < 0 || late < 0 ? [] : [`${file}:${first + late + 2}`];
    });
    assert.deepEqual(bad, []);
  });

  it('leaves nothing unfinished or unfocused behind', () => {
    const marks = [
      ['TO', 'DO'],
      ['FIX', 'ME'],
      ['X', 'XX'],
      ['.', 'only('],
      ['@ts-', 'ignore'],
      ['@ts-', 'nocheck'],
      ['as unknown', ' as'],
    ].map((parts) => parts.join(''));
    const bad = typescript.flatMap((file) => {
      const text = read(file);
      return marks.filter((mark) => text.includes(mark)).map((mark) => `${file}: ${mark}`);
    });
    assert.deepEqual(bad, []);
  });

  it('takes time and chance only from what is injected', () => {
    const bad = source
      .filter((file) => !isTest(file) && !file.startsWith('src/base/'))
      .filter((file) =>
        /\b(Date\.now|Math\.random|performance\.now|randomUUID)\(/.test(read(file)),
      );
    assert.deepEqual(bad, []);
  });

  it('silences a rule only with a reason', () => {
    const bad = typescript.flatMap((file) =>
      read(file)
        .split('\n')
        .filter((line) => /(oxlint|eslint)-disable/.test(line) && !line.includes(' -- '))
        .map((line) => `${file}: ${line.trim()}`),
    );
    assert.deepEqual(bad, []);
  });
});
