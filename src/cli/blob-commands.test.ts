import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { runCli, type CliOptions, type CliResult } from '../../test/support/cli-process.js';
import { costly } from '../../test/support/run-length.js';
import { runCommand } from '../../test/support/command-host.js';
import { losing, startProxy, type Interceptor } from '../../test/support/forwarding-proxy.js';
import { startServer, type StartedServer } from '../../test/support/start-server.js';

let started: StartedServer;
let photos: ContainerClient;
let directory: string;

function connected(command: string, args: readonly string[]): string[] {
  return ['blob', command, ...args, '-c', started.server.connectionString()];
}

function cli(
  command: string,
  args: readonly string[] = [],
  options: CliOptions = {},
): Promise<CliResult> {
  return runCommand(connected(command, args), { cwd: directory, ...options });
}

/** The names of the blobs, in order. */
async function stored(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of photos.listBlobsFlat()) names.push(name);
  return names;
}

function contentOf(name: string): Promise<Buffer> {
  return photos.getBlobClient(name).downloadToBuffer();
}

async function file(name: string, content: string | Buffer): Promise<string> {
  await writeFile(join(directory, name), content);
  return name;
}

function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('base64');
}

/** The largest resident size of a process of its own that runs a command. */
async function peakBytes(command: string, args: readonly string[]): Promise<number> {
  // The system's count includes the process that started the command.
  const tell = `
    let peak = 0;
    const look = () => (peak = Math.max(peak, process.memoryUsage.rss()));
    setInterval(look, 5).unref();
    process.on('exit', () => console.error('peak', peak));`;
  const { code, stderr } = await runCli(connected(command, args), {
    cwd: directory,
    nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(tell)}`],
  });
  assert.equal(code, 0, stderr);
  return Number(/^peak (\d+)$/m.exec(stderr)?.[1]);
}

const blockBytes = 4 * 1024 * 1024;

before(async () => {
  started = await startServer({ blobVersioning: true });
  const service = BlobServiceClient.fromConnectionString(started.server.connectionString());
  photos = service.getContainerClient('photos');
});

after(() => started[Symbol.asyncDispose]());

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tabularium-blobs-'));
  await photos.create();
});

afterEach(async () => {
  await photos.delete();
  await rm(directory, { recursive: true });
});

void describe('tabularium blob put', () => {
  void it(
    'stores a file under its name or another, with its MD5 and the type that is given',
    costly(),
    async () => {
      await file('cat.jpg', 'a cat');
      const { code, stdout, stderr } = await cli('put', ['cat.jpg', 'photos']);
      assert.deepEqual([code, stdout], [0, 'photos/cat.jpg\n'], stderr);
      assert.match(stderr, /Put 1 blob into photos, 5 bytes\./);
      const typed = ['cat.jpg', 'photos/2030/ü 1?.jpg', '--content-type', 'image/x-cat'];
      assert.equal((await cli('put', typed)).code, 0);
      assert.equal((await cli('put', ['cat.jpg', 'photos/2031/'])).code, 0);
      assert.deepEqual(await stored(), ['2030/ü 1?.jpg', '2031/cat.jpg', 'cat.jpg']);
      const properties = await photos.getBlobClient('2030/ü 1?.jpg').getProperties();
      assert.equal(properties.contentType, 'image/x-cat');
      assert.equal(
        Buffer.from(properties.contentMD5 ?? []).toString('base64'),
        md5(Buffer.from('a cat')),
      );
      assert.equal((await contentOf('2030/ü 1?.jpg')).toString(), 'a cat');
    },
  );

  void it('stores standard input, and nothing as an empty blob', costly(), async () => {
    const piped = await runCli(connected('put', ['-', 'photos/in']), { input: 'piped' });
    assert.equal(piped.code, 0, piped.stderr);
    await file('empty', '');
    assert.equal((await cli('put', ['empty', 'photos'])).code, 0);
    assert.equal((await contentOf('in')).toString(), 'piped');
    assert.equal((await photos.getBlobClient('empty').getProperties()).contentLength, 0);
  });

  void it('stores many bytes as blocks, the MD5 of all with them', costly(), async () => {
    for (const bytes of [blockBytes - 1, blockBytes, 2 * blockBytes + 1]) {
      const content = randomBytes(bytes);
      await file('large', content);
      const { code, stderr } = await cli('put', ['large', 'photos']);
      assert.equal(code, 0, stderr);
      assert.ok(content.equals(await contentOf('large')));
      const { contentMD5 = [] } = await photos.getBlobClient('large').getProperties();
      assert.equal(Buffer.from(contentMD5).toString('base64'), md5(content));
    }
  });

  void it('does not send again what an interrupted upload has left', costly(), async () => {
    const content = randomBytes(2 * blockBytes + 5);
    await file('large', content);
    await cli('put', ['large', 'photos']);
    const { committedBlocks = [] } = await photos
      .getBlockBlobClient('large')
      .getBlockList('committed');
    const [first] = committedBlocks;
    assert.ok(first !== undefined);
    await photos.getBlobClient('large').delete();
    const again = photos.getBlockBlobClient('large');
    await again.stageBlock(first.name, content.subarray(0, blockBytes), blockBytes);
    const before = started.records.length;
    assert.equal((await cli('put', ['large', 'photos'])).code, 0);
    const sent = started.records.slice(before).filter(({ operation }) => operation === 'PutBlock');
    assert.equal(sent.length, 2);
    assert.ok(content.equals(await contentOf('large')));
  });

  void it('stores the files of directories by their paths in them, and follows no links', async () => {
    await mkdir(join(directory, 'site', 'css'), { recursive: true });
    await file('site/index.html', 'home');
    await file('site/css/a.css', 'body{}');
    await file('other', 'x');
    await symlink('/etc/passwd', join(directory, 'site', 'link'));
    const { code, stdout, stderr } = await cli('put', ['-r', 'site', 'other', 'photos/v1/']);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await stored(), ['v1/css/a.css', 'v1/index.html', 'v1/other']);
    for (const [name, type] of [
      ['v1/css/a.css', 'text/css'],
      ['v1/index.html', 'text/html'],
      ['v1/other', 'application/octet-stream'],
    ] as const) {
      assert.equal((await photos.getBlobClient(name).getProperties()).contentType, type);
    }
    assert.equal(stdout.split('\n').filter((line) => line !== '').length, 3);
    assert.match(stderr, /Left out: site\/link, neither a file nor a directory\./);
  });

  void it('creates the container only when it is told to', async () => {
    await file('a', 'a');
    const args = ['a', 'fresh'];
    const refused = await cli('put', args);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^error: ContainerNotFound \(404\): .* Make it with --create\.$/m);
    for (let round = 0; round < 2; round++) {
      assert.equal((await cli('put', [...args, '--create'])).code, 0);
    }
  });

  void it('refuses what cannot be done and sends nothing', async () => {
    await mkdir(join(directory, 'folder'));
    await file('a', 'a');
    const cases: [string[], number, RegExp][] = [
      [['photos'], 2, /Name files, and then the container or blob: 'photos' is one word/],
      [['a', 'Photos'], 2, /A container name has 3 to 63/],
      [['a', 'folder', 'photos'], 2, /folder is a directory: use --recursive/],
      [['-r', 'folder', 'photos/x'], 2, /folder is a directory: end the name with a slash/],
      [['a', 'a', 'photos/x'], 2, /Several files cannot become one blob: end x with a slash/],
      [['-', 'photos'], 2, /Standard input has no name/],
      [['-', '-', 'photos/x'], 2, /Standard input can be read once/],
      [['a', 'photos/x\\y'], 2, /write a slash/],
      [['gone', 'photos'], 1, /There is no file gone\./],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await cli('put', args);
      assert.equal(code, expected, stderr);
      assert.match(stderr, message);
    }
    assert.deepEqual(await stored(), []);
  });
});

void describe('a file whose name is not UTF-8', () => {
  const skip = process.platform === 'linux' ? false : 'names have characters here';

  void it('is named, and nothing is put', { skip }, async () => {
    for (const [name, isFile] of [
      ['caf\xe9', true],
      ['folder\xff', false],
    ] as const) {
      const tree = await mkdtemp(join(tmpdir(), 'tabularium-names-'));
      const path = Buffer.concat([Buffer.from(`${tree}/`), Buffer.from(name, 'latin1')]);
      await (isFile ? writeFile(path, 'x') : mkdir(path));
      const { code, stderr } = await cli('put', ['--recursive', tree, 'photos']);
      await rm(tree, { recursive: true });
      assert.equal(code, 1);
      assert.match(stderr, /^error: The name of \S+\ufffd is not UTF-8: rename it\.\n$/);
    }
    assert.deepEqual(await stored(), []);
  });
});

void describe('tabularium blob get', () => {
  void it('writes the bytes to a file with the last part of the name, or to another', async () => {
    const content = randomBytes(1000);
    await photos.getBlockBlobClient('2030/cat.jpg').uploadData(content);
    const { code, stderr, stdout } = await cli('get', ['photos/2030/cat.jpg']);
    assert.deepEqual([code, stdout], [0, ''], stderr);
    assert.match(stderr, /Got photos\/2030\/cat\.jpg, 1,000 bytes, as cat\.jpg\./);
    await file('pet.jpg', 'was here before');
    assert.equal((await cli('get', ['photos/2030/cat.jpg', 'pet.jpg'])).code, 0);
    for (const name of ['cat.jpg', 'pet.jpg']) {
      assert.ok(content.equals(await readFile(join(directory, name))));
    }
    assert.deepEqual((await readdir(directory)).toSorted(), ['cat.jpg', 'pet.jpg']);
  });

  void it('writes to standard output what was put, and an empty blob', async () => {
    await photos.getBlockBlobClient('text').uploadData(Buffer.from('a text\n'));
    await photos.getBlockBlobClient('empty').uploadData(Buffer.alloc(0));
    assert.equal((await cli('get', ['photos/text', '-'])).stdout, 'a text\n');
    const empty = await cli('get', ['photos/empty']);
    assert.equal(empty.code, 0, empty.stderr);
    assert.equal((await readFile(join(directory, 'empty'))).length, 0);
  });

  void it('takes 96 MiB up and down in less memory than they have', costly(), async () => {
    const content = randomBytes(96 * 1024 * 1024 + 1);
    await file('large', content);
    await file('small', 'x');
    const before = await peakBytes('put', ['small', 'photos']);
    const put = await peakBytes('put', ['large', 'photos']);
    const got = await peakBytes('get', ['photos/large', 'back']);
    assert.ok(content.equals(await readFile(join(directory, 'back'))));
    for (const peak of [put, got]) {
      assert.ok(peak - before < content.length, `${peak - before} bytes more than a small file`);
    }
  });

  void it('keeps no file of a blob that is not what its writer meant, unless told to', async () => {
    const blob = photos.getBlockBlobClient('wrong');
    await blob.uploadData(Buffer.from('bytes'));
    await blob.setHTTPHeaders({ blobContentMD5: Buffer.alloc(16, 1) });
    await file('wrong', 'the file before');
    const { code, stderr } = await cli('get', ['photos/wrong']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /error: photos\/wrong is not what its writer meant: its MD5 is .*--no-check/,
    );
    assert.equal(await readFile(join(directory, 'wrong'), 'utf8'), 'the file before');
    assert.deepEqual(await readdir(directory), ['wrong']);
    assert.equal((await cli('get', ['photos/wrong', '--no-check'])).code, 0);
    assert.equal(await readFile(join(directory, 'wrong'), 'utf8'), 'bytes');
  });

  void it('refuses what it cannot write, and names that lead elsewhere', async () => {
    await file('source', 'x');
    for (const name of ['a/..', 'dash/-', 'a//.']) {
      // Clients of URLs would send another path.
      const put = await cli('put', ['source', `photos/${name}`]);
      assert.equal(put.code, 0, put.stderr);
      const { code, stderr } = await cli('get', [`photos/${name}`]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /none for a file: name the file as well/);
    }
    await photos.getBlockBlobClient('x').uploadData(Buffer.from('x'));
    const cases: [string[], number, RegExp][] = [
      [['photos/x', '.'], 2, /\. is a directory: name another file/],
      [['photos/x', '/dev/null'], 2, /\/dev\/null is a device: name another file/],
      [['photos/x', 'no/where'], 1, /no\/where cannot be written/],
      [['photos/absent'], 1, /BlobNotFound \(404\)/],
      [['photos'], 2, /Name a blob after the container: photos\/name/],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await cli('get', args);
      assert.equal(code, expected, stderr);
      assert.match(stderr, message);
    }
    assert.deepEqual(await readdir(directory), ['source']);
  });
});

void describe('a bad network', () => {
  /** Runs a command whose requests to the server go through `intercept`. */
  async function through(
    intercept: Interceptor,
    command: string,
    args: readonly string[],
  ): Promise<CliResult> {
    const direct = started.server.connectionString();
    const [, target = ''] = /BlobEndpoint=(http:\/\/[^/]+)/.exec(direct) ?? [];
    await using proxy = await startProxy(target, intercept);
    const connection = direct.replace(`BlobEndpoint=${target}`, `BlobEndpoint=${proxy.origin}`);
    return await runCommand(['blob', command, ...args, '-c', connection], { cwd: directory });
  }

  void it('does not deny a deletion whose answer is lost', async () => {
    await photos.getBlockBlobClient('gone').uploadData(Buffer.from('gone'));
    const lost = losing(({ method }) => method === 'DELETE', [1]);
    const { code, stderr } = await through(lost, 'delete', ['photos/gone']);
    assert.deepEqual([code, stderr], [0, 'Deleted 1 blob.\n']);
  });

  void it('does not damage what is fetched: a damaged range is fetched again', async () => {
    await photos.getBlockBlobClient('five').uploadData(Buffer.from('right'));
    let answers = 0;
    const { code, stderr } = await through(
      (_, response) => {
        answers += 1;
        if (answers > 1) return 'pass';
        const headers = {
          'Content-Range': 'bytes 0-4/5',
          'Content-MD5': md5(Buffer.from('right')),
        };
        response.writeHead(206, { ...headers, ETag: '"1"' }).end('wrong');
        return 'done';
      },
      'get',
      ['photos/five'],
    );
    assert.equal(code, 0, stderr);
    assert.equal(answers, 2);
    assert.equal(await readFile(join(directory, 'five'), 'utf8'), 'right');
  });

  void it('is no reason to mix two states of a blob', async () => {
    const blob = photos.getBlockBlobClient('large');
    await blob.uploadData(Buffer.alloc(2 * blockBytes, 'a'));
    const { code, stderr } = await through(
      async ({ headers }): Promise<'pass'> => {
        const isFirst = headers['x-ms-range'] === `bytes=0-${blockBytes - 1}`;
        if (!isFirst) await blob.uploadData(Buffer.alloc(2 * blockBytes, 'b'));
        return 'pass';
      },
      'get',
      ['photos/large'],
    );
    assert.equal(code, 1);
    assert.match(stderr, /^error: photos\/large was changed while it was read: get it again\.$/m);
    assert.deepEqual(await readdir(directory), []);
  });

  void it('does not lose what has arrived: the next get goes on with it', costly(), async () => {
    const content = randomBytes(3 * blockBytes + 7);
    await photos.getBlockBlobClient('large').uploadData(content);
    const reached = (headers: IncomingHttpHeaders): number =>
      Number(/^bytes=(\d+)-/.exec(String(headers['x-ms-range']))?.[1]) / blockBytes;
    const get = (intercept: Interceptor) => through(intercept, 'get', ['photos/large']);
    const broken = await get(({ headers }, response) => {
      if (reached(headers) < 2) return 'pass';
      response.destroy();
      return 'done';
    });
    assert.equal(broken.code, 1);
    const [kept = ''] = await readdir(directory);
    assert.match(kept, /^large\.0x[0-9A-F]+\.part$/);
    assert.ok(broken.stderr.includes(`${kept}: the same command goes on with it.`), broken.stderr);
    assert.ok(content.subarray(0, 2 * blockBytes).equals(await readFile(join(directory, kept))));

    const asked: number[] = [];
    const resumed = await get(({ headers }) => {
      asked.push(reached(headers));
      return 'pass';
    });
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.match(resumed.stderr, /^Got photos\/large, 4 MiB, as large\. 8 MiB were there\.$/m);
    assert.deepEqual(asked, [0, 2, 3]);
    assert.ok(content.equals(await readFile(join(directory, 'large'))));

    await rm(join(directory, 'large'));
    await writeFile(join(directory, kept), Buffer.alloc(blockBytes));
    const damaged = await cli('get', ['photos/large']);
    assert.equal(damaged.code, 1);
    assert.match(
      damaged.stderr,
      /^error: What an earlier try had kept of photos\/large was damaged/m,
    );
    assert.deepEqual(await readdir(directory), []);
  });

  void it('lets deletions take long, and shows how far they are', costly(), async () => {
    for (const name of ['a', 'b']) await photos.getBlockBlobClient(name).uploadData(Buffer.of(1));
    const { code, stderr } = await through(
      async ({ method, url = '' }): Promise<'pass'> => {
        if (method === 'DELETE' && url.endsWith('/b')) await sleep(6000);
        return 'pass';
      },
      'delete',
      ['photos/a', 'photos/b'],
    );
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^50%, 1 blob deleted, \d+\/s\n(?:.*\n)*Deleted 2 blobs\.\n$/);
  });

  void it('does not stop what is sent: each request is sent again', async () => {
    const content = randomBytes(2 * blockBytes + 7);
    await file('large', content);
    const seen = new Set<string>();
    const { code, stderr } = await through(
      ({ method, url = '' }, response) => {
        // Each request is refused or lost once.
        const key = `${method} ${url}`;
        if (seen.has(key)) return 'pass';
        seen.add(key);
        if (seen.size % 2 === 0) response.destroy();
        else response.writeHead(503).end();
        return 'done';
      },
      'put',
      ['large', 'photos'],
    );
    assert.equal(code, 0, stderr);
    assert.equal(seen.size, 5);
    assert.ok(content.equals(await contentOf('large')));
  });
});

void describe('tabularium blob list', () => {
  beforeEach(async () => {
    for (const name of ['2030/a.txt', '2030/b.txt', '2031/c.txt', 'd & <e>']) {
      await photos.getBlockBlobClient(name).uploadData(Buffer.from(name));
    }
  });

  void it('prints all blobs, those with a prefix, or folders', async () => {
    const rows = async (...args: string[]): Promise<Record<string, unknown>[]> => {
      const { stdout, stderr } = await cli('list', ['photos', '-o', 'jsonl', ...args]);
      assert.equal(stderr, '');
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Record<string, unknown> => JSON.parse(line));
    };
    const all = await rows();
    assert.deepEqual(
      all.map(({ name }) => name),
      ['2030/a.txt', '2030/b.txt', '2031/c.txt', 'd & <e>'],
    );
    const [first] = all;
    assert.equal(first?.['bytes'], 10);
    assert.equal(first['contentType'], 'application/octet-stream');
    assert.match(String(first['modified']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(
      (await rows('--prefix', '2030/')).map(({ name }) => name),
      ['2030/a.txt', '2030/b.txt'],
    );
    const folders = await rows('--delimiter', '/');
    assert.deepEqual(
      folders.map(({ name, prefix }) => name ?? prefix),
      ['2030/', '2031/', 'd & <e>'],
    );
  });

  void it('prints a table, and says when there is nothing', async () => {
    const { stdout } = await cli('list', ['photos', '-d', '/']);
    assert.match(stdout, /^name +bytes +modified +contentType *$/m);
    assert.match(stdout, /^d & <e> +7 +\d{4}-/m);
    assert.match(stdout, /^2030\/ *$/m);
    assert.equal((await cli('list', ['photos', '-p', 'none'])).stdout, 'No blobs.\n');
    const wrong = await cli('list', ['photos/2030/']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /Name the container alone, and how names begin: --prefix 2030\//);
  });
});

void describe('versions of blobs', () => {
  void it('are listed by their ids and got by them', async () => {
    const blob = photos.getBlockBlobClient('cat');
    const { versionId: first = '' } = await blob.upload('one', 3);
    const { versionId: second = '' } = await blob.upload('second', 6);
    const { stdout } = await cli('list', ['photos', '--versions']);
    const shown = stdout.split('\n').filter((line) => line.startsWith('cat'));
    assert.deepEqual(
      shown.map((line) => line.trim().split(/ {2,}/)),
      [
        ['cat', '3', first],
        ['cat', '6', `${second} *`],
      ],
    );
    const json = await cli('list', ['photos', '--versions', '--format', 'jsonl']);
    const row = json.stdout.split('\n').find((line) => line.includes(first)) ?? '';
    assert.match(row, /"isCurrent":false/);
    assert.equal((await cli('get', ['photos/cat', '-', '--version-id', first])).stdout, 'one');
    assert.equal((await cli('get', ['photos/cat', '-'])).stdout, 'second');
    const both = await cli('get', ['--recursive', 'photos', '--version-id', first]);
    assert.equal(both.code, 2);
  });
});

void describe('tabularium blob delete', () => {
  beforeEach(async () => {
    for (const name of ['a/1', 'a/2', 'b']) {
      await photos.getBlockBlobClient(name).uploadData(Buffer.from(name));
    }
  });

  void it('deletes the blobs that are named, and says what it has deleted before a failure', async () => {
    const { code, stderr } = await cli('delete', ['photos/a/1', 'photos/b']);
    assert.deepEqual([code, stderr], [0, 'Deleted 2 blobs.\n']);
    const refused = await cli('delete', ['photos/a/2', 'photos/absent']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^Deleted 1 blob\.\nerror: BlobNotFound \(404\)/);
    assert.deepEqual(await stored(), []);
  });

  void it('names a blob that is kept, and says what to do', async () => {
    const { server } = started;
    const service = BlobServiceClient.fromConnectionString(server.connectionString());
    const kept = service.getContainerClient('kept');
    await kept.create();
    await server.reload({ blobImmutability: true });
    await kept.getBlockBlobClient('held').upload('x', 1, { legalHold: true });
    const expiriesOn = new Date(Date.now() + 600_000);
    const immutabilityPolicy = { expiriesOn, policyMode: 'Unlocked' } as const;
    await kept.getAppendBlobClient('for a time').create({ immutabilityPolicy });
    await server.reload({ blobImmutability: false });
    const held = await cli('delete', ['kept/held']);
    assert.equal(held.code, 1);
    assert.match(
      held.stderr,
      /BlobImmutableDueToLegalHold.*kept\/held: A legal hold keeps it: try/,
    );
    const all = await cli('delete', ['--prefix', 'kept/for', '--yes']);
    assert.equal(all.code, 1);
    assert.match(all.stderr, /kept\/for a time: Its immutability policy keeps it: try again when/);
    assert.doesNotMatch(all.stderr, /Deleted/);
  });

  void it('deletes all with a prefix only when it is told twice', async () => {
    const refused = await cli('delete', ['--prefix', 'photos/a/']);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /say so with --yes/);
    assert.equal((await stored()).length, 3);
    const { code, stderr } = await cli('delete', ['--prefix', 'photos/a/', '--yes']);
    assert.deepEqual([code, stderr], [0, 'Deleted 2 blobs.\n']);
    assert.deepEqual(await stored(), ['b']);
    assert.match((await cli('delete', ['photos'])).stderr, /Name a blob after the container/);
  });
});
