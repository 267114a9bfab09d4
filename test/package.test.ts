import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { costly } from './support/run-length.js';

// The package as published: packed, checked and used from an empty folder. Nothing is downloaded.
// `npm run check:package` also looks whether its types resolve for every importer, which takes
// long.

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'tabularium-package-'));
after(() => rmSync(place, { recursive: true, force: true }));

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
/** The paths of the modelling library with their files, the core first. */
const modelingPaths = Object.entries(manifest.exports)
  .flatMap(([path, target]) =>
    path.startsWith('./modeling') && typeof target === 'object' ? [[path, target.default]] : [],
  )
  .map(([path = '', file = '']) => [path, file] as const);
const tarball = join(place, `tabularium-${manifest.version}.tgz`);

before(async () => {
  const shell = process.platform === 'win32';
  const options = ['pack', '--offline', '--ignore-scripts', '--pack-destination', place];
  await run('npm', options, { cwd: root, shell });
});

function node(args: readonly string[], cwd: string): Promise<{ readonly stdout: string }> {
  return run(process.execPath, [...args], { cwd });
}

/** Creates a folder with the package and those other packages. */
async function install(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(place, name);
  const own = join(folder, 'node_modules', 'tabularium');
  mkdirSync(own, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  for (const each of packages) {
    const link = join(folder, 'node_modules', each);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', each), link, 'junction');
  }
  return folder;
}

async function importedNames(folder: string, specifier: string): Promise<readonly string[]> {
  const program = `console.log(JSON.stringify(Object.keys(await import('${specifier}'))))`;
  const { stdout } = await node(['--input-type=module', '--eval', program], folder);
  return JSON.parse(stdout) as readonly string[];
}

/** The packages that npm would install here according to the lock file, and its output. */
async function dryInstall(name: string, options: readonly string[]) {
  const folder = join(place, name);
  mkdirSync(folder);
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
    writeFileSync(join(folder, file), readFileSync(join(root, file)));
  }
  const inherited = Object.entries(process.env).filter(([key]) => !/^npm_config_/i.test(key));
  const env = { ...Object.fromEntries(inherited), npm_config_userconfig: join(folder, 'none') };
  const shell = process.platform === 'win32';
  const args = ['ci', '--dry-run', '--offline', '--no-update-notifier', ...options];
  const { stdout, stderr } = await run('npm', args, { cwd: folder, env, shell });
  return { packages: Number(/added (\d+) packages/.exec(stdout)?.[1]), stderr };
}

describe('an install', { timeout: 600_000 }, () => {
  it('of the clone brings few packages and warns of nothing', costly(), async () => {
    const { packages, stderr } = await dryInstall('clone', []);
    assert.equal(stderr, '');
    assert.ok(packages > 100 && packages < 200, `${packages} packages`);
  });

  it('of the package brings as many packages as the decision records count', costly(), async () => {
    const { packages } = await dryInstall('production', ['--omit=dev']);
    const page = readFileSync(join(root, 'docs/decisions/0002-dependencies.md'), 'utf8');
    // Optional binaries depend on the platform: the number may differ by two.
    const counted = Number(/^(\d+) packages with those above/m.exec(page)?.[1]);
    assert.ok(Math.abs(packages - counted) <= 2, `${packages} packages, ${counted} counted`);
  });
});

describe('the packed package', { timeout: 600_000 }, () => {
  it('exports what publint finds in order', costly(), async () => {
    const publint = join(root, 'node_modules/publint/src/cli.js');
    const { stdout } = await node([publint, tarball, '--strict'], place);
    assert.match(stdout, /All good/);
  });

  it('serves and stores with its dependencies and nothing else', costly(), async () => {
    const folder = await install('server', Object.keys(manifest.dependencies));
    assert.ok((await importedNames(folder, 'tabularium')).includes('createServer'));
    assert.ok((await importedNames(folder, 'tabularium/kv')).length > 0);
    const { stdout } = await node(['node_modules/tabularium/bin/tabularium.js', '--help'], folder);
    assert.match(stdout, /start/);
    for (const schema of ['config', 'seed']) {
      const program =
        `import schema from 'tabularium/${schema}.schema.json' with { type: 'json' };` +
        'console.log(schema.$id)';
      const printed = await node(['--input-type=module', '--eval', program], folder);
      assert.equal(printed.stdout, `urn:tabularium:${schema}\n`);
    }
    writeFileSync(join(folder, 'config.yaml'), 'inMemory: maybe\n');
    const start = ['node_modules/tabularium/bin/tabularium.js', 'start', '--config', 'config.yaml'];
    await assert.rejects(node(start, folder), /config\.yaml:1:11: inMemory must be true or false/);
  });

  it('carries every page that its README links, and says in words what is not there', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const packed = new Set(stdout.split('\n').map((file) => file.replace(/^package\//, '')));
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)];
    const targets = links.map(([, target = '']) => target);
    assert.ok(targets.length > 10);
    assert.deepEqual(
      targets.filter((target) => !packed.has(target)),
      [],
    );
    assert.match(readme, /## What is not there\n[^]*blobs[^]*\.NET/);
    assert.ok(readme.split('\n').length < 140, 'the README stays short');
  });

  it('models tables with the client of tables and nothing else', costly(), async () => {
    const folder = await install('modeling', ['@azure/data-tables']);
    const specifiers = modelingPaths.map(([path]) => path.replace('.', 'tabularium'));
    const modules = specifiers.map((specifier) => `import('${specifier}')`).join(', ');
    const program =
      `const modules = await Promise.all([${modules}]);` +
      'console.log(JSON.stringify(modules.map((each) => Object.keys(each))));';
    const { stdout } = await node(['--input-type=module', '--eval', program], folder);
    const [core = [], ...families] = JSON.parse(stdout) as readonly (readonly string[])[];
    assert.ok(core.includes('defineEntity') && core.includes('openTable'));
    for (const names of families) assert.ok(names.length > 0);
    const all = [core, ...families].flat();
    assert.equal(new Set(all).size, all.length, 'one path for each name');
  });

  it('types programs that have the client of tables and nothing else', costly(), async () => {
    const folder = await install('typed', ['@azure/data-tables', '@types/node']);
    const program =
      "import * as modeling from 'tabularium/modeling';\n" +
      'export const names: readonly string[] = Object.keys(modeling);\n' +
      'export const type = modeling.defineEntity({\n' +
      "  type: 'Note',\n" +
      '  properties: { id: modeling.string() },\n' +
      '  partitionKey: (p) => modeling.key`${p.id}`,\n' +
      '  rowKey: () => modeling.key``,\n' +
      '}).type;\n';
    writeFileSync(join(folder, 'program.ts'), program);
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const compilerOptions = {
      target: 'ES2023',
      lib: ['ES2023', 'ESNext.Disposable'],
      module: 'NodeNext',
      types: ['node'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    };
    const config = JSON.stringify({ compilerOptions, files: ['program.ts'] });
    writeFileSync(join(folder, 'tsconfig.json'), config);
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const failure: unknown = await node([compiler, '-p', '.'], folder).catch((error) => error);
    const output = failure instanceof Error ? String(Reflect.get(failure, 'stdout')) : '';
    assert.equal(output, '');
  });
});

/** Which imports to follow: also dynamic ones, or only those that are loaded with the module. */
type Moment = 'ever' | 'at once';

/** The text of a compiled file without comments. */
function programOf(file: string): string {
  return readFileSync(file, 'utf8').replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
}

/** The module specifiers in a compiled file or a declaration file. */
function specifiersOf(file: string, moment: Moment): readonly string[] {
  const text = programOf(file);
  const statement = /^(?:import|export)\s(?:[^'"`;]*?\bfrom\s)?\s*["']([^"'\n]+)["']/gm;
  const expression = /\bimport\(\s*["']([^"'\n]+)["']/g;
  return (moment === 'ever' ? [statement, expression] : [statement]).flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, specifier = '']) => specifier),
  );
}

/**
 * Everything that a file imports, directly or indirectly: files relative to the source folder, and
 * packages.
 */
function reachedFrom(entry: string, extension: '.js' | '.d.ts', moment: Moment = 'ever') {
  const files = new Set([entry]);
  const packages = new Set<string>();
  for (const file of files) {
    for (const specifier of specifiersOf(file, moment)) {
      if (!specifier.startsWith('.')) packages.add(specifier);
      else files.add(join(dirname(file), specifier.replace(/\.js$/, extension)));
    }
  }
  const sources = join(root, 'dist', 'src');
  const folders = [...files].map((file) => relative(sources, file).split(sep)[0] ?? '');
  const found = [...new Set(folders)].sort();
  return { files: [...files], folders: found, packages: [...packages] };
}

describe('a folder that is packed', () => {
  it('has lost everything compiled before it is compiled again', () => {
    const copy = join(place, 'copy');
    mkdirSync(join(copy, 'scripts'), { recursive: true });
    mkdirSync(join(copy, 'dist', 'src'), { recursive: true });
    writeFileSync(join(copy, 'dist', 'src', 'stale.js'), '');
    const script = 'scripts/clean.js';
    writeFileSync(join(copy, script), readFileSync(join(root, script)));
    assert.equal(manifest.scripts['prepack'], `node ${script} && npm run build`);
    execFileSync(process.execPath, [script], { cwd: copy });
    assert.ok(!existsSync(join(copy, 'dist')));
  });
});

describe('the files of tabularium/placement', () => {
  it('need nothing but themselves and what is below them', () => {
    const entry = join(root, 'dist', 'src', 'placement', 'index.js');
    const { files, folders, packages } = reachedFrom(entry, '.js');
    assert.ok(files.length > 10, 'the graph is walked');
    assert.deepEqual(folders, ['base', 'placement']);
    assert.deepEqual(packages, ['node:crypto']);
  });
});

describe('the files of tabularium/modeling', () => {
  const page = readFileSync(join(root, 'docs/reference/modeling.md'), 'utf8');
  const entries = modelingPaths.map(([, file]) => join(root, file.replace(/\.js$/, '')));
  const isOfServer = (folder: string): boolean =>
    !['base', 'modeling', 'placement'].includes(folder);
  const ofNode = (name: string): boolean => name.startsWith('node:');

  for (const [extension, what] of [
    ['.js', 'run'],
    ['.d.ts', 'are typed'],
  ] as const) {
    it(`${what} without a file of the server and without the optional clients`, () => {
      assert.ok(entries.length > 10);
      for (const entry of entries) {
        const { files, folders, packages } = reachedFrom(entry + extension, extension);
        assert.ok(files.length > 10, 'the graph is walked');
        assert.deepEqual(folders.filter(isOfServer), []);
        const others = packages.filter((name) => !ofNode(name) && name !== '@azure/data-tables');
        assert.deepEqual(others, []);
      }
    });
  }

  it('export no classes to be made in a second way', costly(), async () => {
    const modules = await Promise.all(
      entries.map(
        async (entry) => (await import(`${entry}.js`)) as Readonly<Record<string, unknown>>,
      ),
    );
    const classes = modules
      .flatMap((exported) => Object.entries(exported))
      .filter(([, value]) => typeof value === 'function' && /^class\b/.test(String(value)))
      .map(([name]) => name);
    assert.deepEqual(
      classes.filter((name) => !name.endsWith('Error')),
      ['Instant'],
    );
  });

  it('have a path each that the reference tells', () => {
    const told = [...page.matchAll(/^\| `tabularium(\/modeling[^`]*)`/gm)].map(
      ([, path = '']) => path,
    );
    assert.deepEqual(
      told.toSorted(),
      modelingPaths.map(([path]) => path.slice(1)),
    );
  });

  it('of the core are no more than the reference says', () => {
    const { files } = reachedFrom(join(root, 'dist/src/modeling/index.js'), '.js', 'at once');
    const program = files.map(programOf).join('');
    const [, plain, packed] =
      /less than (\d+) KiB of JavaScript, (\d+) KiB gzipped/.exec(page) ?? [];
    for (const [bytes, stated] of [
      [program.length, Number(plain) * 1024],
      [gzipSync(program).length, Number(packed) * 1024],
    ] as const) {
      assert.ok(bytes < stated && bytes > stated * 0.8, `${bytes} bytes, ${stated} stated`);
    }
  });
});

describe('the command line', () => {
  it('loads the services and the engine only to serve', () => {
    const entry = join(root, 'dist', 'src', 'cli', 'command-line.js');
    const { files, packages } = reachedFrom(entry, '.js', 'at once');
    assert.ok(files.length > 50, 'the graph is walked');
    const ofServer = reachedFrom(entry, '.js').packages.filter((name) => name === 'lmdb');
    assert.deepEqual(ofServer, ['lmdb'], 'some command needs it');
    assert.ok(!packages.includes('lmdb'), packages.join(', '));
    assert.ok(!packages.includes('csv-parse'), 'commands are loaded when they are named');
  });
});
