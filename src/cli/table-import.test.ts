import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import { CliProcess, runCli, type CliResult } from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import { losing, startProxy } from '../../test/support/forwarding-proxy.js';
import { startServer, type StartedServer } from '../../test/support/start-server.js';
import { sampled, costly } from '../../test/support/run-length.js';

type Row = Readonly<Record<string, unknown>>;

let started: StartedServer;
let directory: string;
let tables = 0;

before(async () => {
  started = await startServer();
  directory = await mkdtemp(join(tmpdir(), 'tabularium-import-'));
});

after(async () => {
  await started[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

function newTable(): string {
  return `imported${++tables}`;
}

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

function importFile(args: readonly string[]): Promise<CliResult> {
  const connection = ['-c', started.server.connectionString()];
  return runCommand(['table', 'import', ...connection, ...args]);
}

async function rowsOf(table: string): Promise<readonly Row[]> {
  const connection = ['-c', started.server.connectionString()];
  const args = ['table', 'query', '-t', table, '--all', '-o', 'jsonl', '--no-plan', ...connection];
  const { code, stdout, stderr } = await runCommand(args);
  assert.equal(code, 0, stderr);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const {
      Timestamp,
      'Timestamp@odata.type': _,
      ...row
    }: Record<string, unknown> = JSON.parse(line);
    assert.equal(typeof Timestamp, 'string');
    return row;
  });
}

/** The connection string of the same server with another origin. */
function connectionBy(origin: string): string {
  const text = started.server.connectionString();
  return text.replace(/TableEndpoint=http:\/\/[^/]+/, `TableEndpoint=${origin}`);
}

function isBatch({ url }: IncomingMessage): boolean {
  return url?.endsWith('$batch') === true;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

void describe('tabularium table import', () => {
  void it(
    'reads typed CSV, makes keys from templates and reports bad rows by line',
    costly(),
    async () => {
      const table = newTable();
      const path = await file(
        'cities.csv',
        '\ufeffCountry,Id,Name,Pop@int64,Founded:datetime,Old Name\r\n' +
          'FR,1,Paris,2000000,0300-01-01,Lutetia\r\n' +
          'FR,2,"Ly\non",500000,,\r\n' +
          'DE,3,Berlin,many,,\r\n' +
          'DE,4,"K""öln",1,2020-01-02T03:04:05.1234567Z,Colonia\r\n' +
          ',5,Nowhere,1,,\r\n' +
          'D/E,6,Slash,1,,\r\n' +
          'DE,7,Long,1,,,,\r\n',
      );
      const errors = join(directory, 'errors.jsonl');
      const mapping = ['-p', '{Country}', '-r', '{Country}-{Id:03}', '--omit', 'Id'];
      mapping.push('--rename', 'Old Name=OldName', '--errors', errors);
      const result = await importFile([path, '-t', table, ...mapping]);
      assert.equal(result.code, 1);
      assert.deepEqual(await rowsOf(table), [
        {
          PartitionKey: 'DE',
          RowKey: 'DE-004',
          Country: 'DE',
          Name: 'K"öln',
          'Pop@odata.type': 'Edm.Int64',
          Pop: '1',
          'Founded@odata.type': 'Edm.DateTime',
          Founded: '2020-01-02T03:04:05.1234567Z',
          OldName: 'Colonia',
        },
        {
          PartitionKey: 'FR',
          RowKey: 'FR-002',
          Country: 'FR',
          Name: 'Ly\non',
          'Pop@odata.type': 'Edm.Int64',
          Pop: '500000',
        },
      ]);
      const refused = (await readFile(errors, 'utf8')).trim().split('\n');
      const lines = refused.map((line) => (JSON.parse(line) as { line: number }).line);
      assert.deepEqual(lines, [2, 5, 7, 8, 9]);
      assert.match(result.stderr, /line 5: InvalidInput: Column Pop is no Edm\.Int64: 'many'/);
      assert.match(result.stderr, /line 7: KeyColumnMissing/);
      assert.match(result.stderr, /line 8: OutOfRangeInput: The PartitionKey 'D\/E' holds "\/"/);
      assert.match(result.stderr, /Imported 2 rows .*5 refused/);
    },
  );

  void it(
    'reads JSON arrays with exact numbers and JSONL with broken lines',
    costly(),
    async () => {
      const array = newTable();
      const json = await file(
        'rows.json',
        '[\n {"pk":"a","rk":1,"big":9007199254740993,"whole":3.0,"small":-7,"no":null,\n' +
          '  "text":"]}\\"{[", "yes":true},\n' +
          ' {"pk":"a","rk":2,"w":[1,{"x":1.50}]}\n]\n',
      );
      const mapping = '-p pk -r {rk:04} --omit pk,rk --nested json'.split(' ');
      const result = await importFile([json, '-t', array, ...mapping]);
      assert.equal(result.code, 0, result.stderr);
      assert.deepEqual(await rowsOf(array), [
        {
          PartitionKey: 'a',
          RowKey: '0001',
          'big@odata.type': 'Edm.Int64',
          big: '9007199254740993',
          small: -7,
          text: ']}"{[',
          whole: 3,
          yes: true,
        },
        { PartitionKey: 'a', RowKey: '0002', w: '[1,{"x":1.50}]' },
      ]);
      const lines = newTable();
      const input =
        '{"PartitionKey":"a","RowKey":"1"}\n\n{"PartitionKey":"a",\n' +
        '{"PartitionKey":"a","RowKey":"2","Timestamp":5,"odata.etag":"x"}';
      const connection = ['-c', started.server.connectionString()];
      const second = await runCli(['table', 'import', '-', '-t', lines, ...connection], { input });
      assert.equal(second.code, 1);
      assert.match(second.stderr, /line 3: InvalidJson/);
      assert.deepEqual(
        (await rowsOf(lines)).map(({ RowKey }) => RowKey),
        ['1', '2'],
      );
    },
  );

  void it(
    'lets the last of several rows with one key win, across transactions',
    costly(),
    async () => {
      const table = newTable();
      const text = Array.from({ length: 350 }, (_, at) => `a,${at % 3},${at}\n`).join('');
      const path = await file('duplicates.csv', `PartitionKey,RowKey,n:int32\n${text}`);
      const target = started.server.tableEndpoint;
      await using proxy = await startProxy(
        target,
        async (_request, _response, count): Promise<'pass'> => {
          await delay((5 - (count % 6)) * 8);
          return 'pass';
        },
      );
      const args = ['table', 'import', path, '-t', table, '--concurrency', '16'];
      const result = await runCommand([...args, '-c', connectionBy(proxy.origin)]);
      assert.equal(result.code, 0, result.stderr);
      assert.deepEqual(
        (await rowsOf(table)).map(({ RowKey, n }) => [RowKey, n]),
        [
          ['0', 348],
          ['1', 349],
          ['2', 347],
        ],
      );
    },
  );

  void it('writes the rest of a transaction when the service refuses rows of it', async () => {
    const table = newTable();
    const rows = (from: number, step: 1 | -1): string =>
      Array.from(
        { length: 150 },
        (_, at) => `a,${String(from + at * step).padStart(4, '0')}\n`,
      ).join('');
    const first = await file('first.csv', `PartitionKey,RowKey\n${rows(0, 1)}`);
    assert.equal((await importFile([first, '-t', table])).code, 0);
    const second = await file('second.csv', `PartitionKey,RowKey\n${rows(294, -1)}`);
    const result = await importFile([second, '-t', table, '--mode', 'insert']);
    assert.equal(result.code, 1);
    for (const line of [147, 148, 149, 150, 151]) {
      assert.match(result.stderr, new RegExp(`line ${line}: EntityAlreadyExists`));
    }
    assert.equal((await rowsOf(table)).length, 295);
  });

  void it('splits transactions that would be too large', costly(), async () => {
    const table = newTable();
    const long = 'é'.repeat(30_000);
    const text = Array.from(
      { length: 100 },
      (_, at) =>
        `${JSON.stringify({ PartitionKey: 'a', RowKey: String(at), long, long2: long })}\n`,
    ).join('');
    const path = await file('large.jsonl', text);
    const result = await importFile([path, '-t', table]);
    assert.equal(result.code, 0, result.stderr);
    assert.equal((await rowsOf(table)).length, 100);
  });

  void it('repeats what a busy server or a broken connection left undone', async () => {
    const table = newTable();
    await using proxy = await startProxy(
      started.server.tableEndpoint,
      ({ url, socket }, response, count) => {
        if (url?.endsWith('$batch') !== true || count > 5) return 'pass';
        if (count % 2 === 0) socket.destroy();
        else response.writeHead(503).end('busy');
        return 'done';
      },
    );
    const path = await file('retried.csv', 'PartitionKey,RowKey\na,1\nb,1\nc,1\n');
    const args = ['table', 'import', path, '-t', table, '-c', connectionBy(proxy.origin)];
    const result = await runCommand(args);
    assert.equal(result.code, 0, result.stderr);
    assert.match(result.stderr, /Retrying: /);
    assert.equal((await rowsOf(table)).length, 3);
  });

  void it(
    'refuses no row that a lost answer has written, and any other that is there',
    costly(),
    async () => {
      const table = newTable();
      const row = (at: number, text: string): string => `a,${at},${text}\n`;
      const before = await file('before.csv', `PartitionKey,RowKey,text\n${row(3, 'other')}`);
      assert.equal((await importFile([before, '-t', table])).code, 0);
      // The first fails because of the row that is there, the third writes the others.
      await using proxy = await startProxy(started.server.tableEndpoint, losing(isBatch, [1, 3]));
      const text = Array.from({ length: 150 }, (_, at) => row(at, `it's ${at}`)).join('');
      const path = await file('lost.csv', `PartitionKey,RowKey,text\n${text}`);
      const args = ['table', 'import', path, '-t', table, '-c', connectionBy(proxy.origin)];
      const result = await runCommand([...args, '--mode', 'insert', '--concurrency', '1']);
      assert.match(result.stderr, /Imported 149 rows .*; 1 refused/);
      assert.match(result.stderr, /line 5: EntityAlreadyExists/);
      assert.equal(result.code, 1);
      const rows = await rowsOf(table);
      assert.equal(rows.length, 150);
    },
  );

  void it('writes the rest when an attempt whose answer was lost has written nothing', async () => {
    const table = newTable();
    const path = await file('half.csv', 'PartitionKey,RowKey\na,1\n');
    assert.equal((await importFile([path, '-t', table])).code, 0);
    await using proxy = await startProxy(started.server.tableEndpoint, ({ url, socket }, _, at) => {
      if (url?.endsWith('$batch') !== true || at > 2) return 'pass';
      socket.destroy();
      return 'done';
    });
    await writeFile(path, 'PartitionKey,RowKey\na,1\na,2\n');
    const args = ['table', 'import', path, '-t', table, '-c', connectionBy(proxy.origin)];
    const result = await runCommand([...args, '--mode', 'insert']);
    assert.match(result.stderr, /Retrying: /);
    assert.match(result.stderr, /line 2: EntityAlreadyExists/);
    assert.match(result.stderr, /Imported 1 row .*; 1 refused/);
    assert.equal((await rowsOf(table)).length, 2);
  });

  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    for (const format of sampled(['csv', 'jsonl', 'json'] as const, 1)) {
      void it(`continues ${format} where ${signal} stopped it`, costly(), async () => {
        await interrupted(signal, format);
      });
    }
  }

  void it('leaves no note of its place when one could not be written', costly(), async () => {
    const table = newTable();
    const text = Array.from({ length: 300 }, (_, at) => `a,${at}\n`).join('');
    const path = await file('unsaved.csv', `PartitionKey,RowKey\n${text}`);
    const [folder, away] = [join(directory, 'notes'), join(directory, 'away')];
    await mkdir(folder);
    const state = join(folder, 'state.json');
    let batches = 0;
    const steps: readonly (() => Promise<void>)[] = [
      () => Promise.resolve(),
      async () => {
        while (!(await exists(state))) await delay(10);
        await rename(folder, away);
      },
      async () => {
        await running.printed('Warning: the place of this import is not noted any more');
        await rename(away, folder);
      },
    ];
    await using proxy = await startProxy(
      started.server.tableEndpoint,
      async ({ url }): Promise<'pass'> => {
        if (url?.endsWith('$batch') === true) await steps[batches++]?.();
        return 'pass';
      },
    );
    const args = ['table', 'import', path, '-t', table, '--state', state, '--concurrency', '1'];
    const running = new CliProcess([...args, '-c', connectionBy(proxy.origin)]);
    const { code, stderr } = await running.result;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Imported 300 rows/);
    assert.equal(await exists(state), false);
  });

  void it('leaves none of an earlier run that --restart begins again', async () => {
    const path = await file('again.csv', 'PartitionKey,RowKey\na,1\n');
    const state = `${path}.tabularium-import.json`;
    const identity = { input: {}, endpoint: '', table: '', mapping: {} };
    const progress = { position: { offset: 20, line: 1, row: 1 }, refused: 0 };
    await writeFile(state, JSON.stringify({ version: 1, identity, progress }));
    const args = [path, '-t', newTable(), '--no-create'];
    assert.match((await importFile(args)).stderr, /TableNotFound/);
    assert.equal(await exists(state), true);
    assert.match((await importFile([...args, '--restart'])).stderr, /TableNotFound/);
    assert.equal(await exists(state), false);
  });

  void it('starts over when the file is another one now', async () => {
    const table = newTable();
    const path = await file('changed.csv', 'PartitionKey,RowKey\na,1\n');
    const state = `${path}.tabularium-import.json`;
    const identity = { input: {}, endpoint: '', table, mapping: {} };
    const progress = { position: { offset: 20, line: 1, row: 1 }, refused: 0 };
    await writeFile(state, JSON.stringify({ version: 1, identity, progress }));
    const result = await importFile([path, '-t', table]);
    assert.match(result.stderr, /starting from the beginning/);
    assert.equal((await rowsOf(table)).length, 1);
    assert.equal(await exists(state), false);
  });

  void it('stops before it writes anything when the command line cannot be right', async () => {
    const path = await file('plain.csv', 'Id,Full Name\n1,Ann\n');
    const table = newTable();
    const cases: [string[], RegExp][] = [
      [[path, '-t', table, '-p', 'Country', '-r', 'Id', '--omit', 'Full Name'], /'Country'/],
      [[path, '-t', table, '-p', "'all'", '-r', 'Id'], /--rename "Full Name=/],
      [[path, '-t', table, '-p', '{Id', '-r', 'Id'], /closing brace/],
      [[path, '-t', table, '-p', 'Id', '-r', 'Id', '--types', 'Id=number'], /no type 'number'/],
      [[path, '-t', table, '-p', 'Id', '-r', 'Id', '--types', 'X=int32'], /no such column/],
    ];
    for (const [args, message] of cases) {
      const result = await importFile(args);
      assert.equal(result.code, 2, args.join(' '));
      assert.match(result.stderr, message);
    }
    const missing = await importFile([join(directory, 'none.csv'), '-t', table]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /There is no file/);
    const noTable = await importFile([
      path,
      '-t',
      table,
      '-p',
      'Id',
      '-r',
      'Id',
      '--no-create',
      '--omit',
      'Full Name',
    ]);
    assert.equal(noTable.code, 1);
    assert.match(noTable.stderr, /TableNotFound/);
  });
});

const interruptedRows = 1500;

function interruptedText(format: 'csv' | 'json' | 'jsonl'): string {
  const rows = Array.from({ length: interruptedRows }, (_, at) => ({
    partition: String(Math.floor(at / 50)),
    id: String(at),
    text: at % 500 === 7 ? 'x'.repeat(40_000) : `"é",\n${at}`,
  }));
  if (format === 'json') return JSON.stringify(rows, undefined, 1);
  if (format === 'jsonl') return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const cells = rows.map(
    ({ partition, id, text }) => `${partition},${id},"${text.replaceAll('"', '""')}"\r\n`,
  );
  return `partition,id,text\r\n${cells.join('')}`;
}

/** Interrupts an import, runs it again and checks that nothing is missing or duplicated. */
async function interrupted(
  signal: 'SIGKILL' | 'SIGINT',
  format: 'csv' | 'json' | 'jsonl',
): Promise<void> {
  const table = newTable();
  const path = await file(`stopped-${signal}.${format}`, interruptedText(format));
  const state = `${path}.tabularium-import.json`;
  let batches = 0;
  let delayMs = 80;
  await using proxy = await startProxy(
    started.server.tableEndpoint,
    async ({ url }): Promise<'pass'> => {
      if (url?.endsWith('$batch') === true) batches++;
      await delay(delayMs);
      return 'pass';
    },
  );
  const args = ['table', 'import', path, '-t', table, '-p', 'partition', '-r', '{id:06}'];
  args.push('--concurrency', '1', '-c', connectionBy(proxy.origin));
  const first = new CliProcess(args);
  while (!(await exists(state))) await delay(10);
  first.child.kill(signal);
  const stopped = await first.result;
  if (signal === 'SIGINT') {
    assert.equal(stopped.code, 130, stopped.stderr);
    assert.match(stopped.stderr, /Run the same command again/);
  }
  const batchesBefore = batches;
  assert.ok(batchesBefore < interruptedRows / 50, 'it was stopped on its way');
  delayMs = 0;
  const second = await runCommand(args);
  assert.match(second.stderr, /Continuing after row/);
  assert.match(second.stderr, / 3 refused/);
  assert.equal(second.code, 1);
  assert.ok(batches - batchesBefore < interruptedRows / 50, 'it did not start over');
  const rows = await rowsOf(table);
  assert.equal(rows.length, interruptedRows - 3);
  for (const { RowKey, text } of rows) assert.equal(text, `"é",\n${Number(RowKey)}`);
  assert.equal(await exists(state), false);
}
