import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CliResult } from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import { startProxy } from '../../test/support/forwarding-proxy.js';
import { startServer, type StartedServer } from '../../test/support/start-server.js';
import { costly } from '../../test/support/run-length.js';

let started: StartedServer;

function cli(...args: readonly string[]): Promise<CliResult> {
  return runCommand(['table', ...args, '-c', started.server.connectionString()]);
}

before(async () => {
  started = await startServer();
  const first = await cli(
    ...(
      'insert -t people --create PartitionKey=Sales RowKey=0001 Name=Ann ' +
      'big:int64=9007199254740993 born:datetime=2020-01-02T03:04:05.12Z rate:double=3 ' +
      'id:guid=C9DA6455-213D-42C9-9A79-3E9149A57833 raw:binary=/w== ok:bool=true'
    ).split(' '),
  );
  assert.equal(first.code, 0, first.stderr);
  const json = '{"PartitionKey":"Sales","RowKey":"0002","Name":"B\\u001b[31m","age":41}';
  const second = await cli('insert', '-t', 'people', '--json', json);
  assert.equal(second.code, 0, second.stderr);
});

after(() => started[Symbol.asyncDispose]());

void describe('tabularium table query', () => {
  void it('prints an aligned table with every digit and no control characters', async () => {
    const { code, stdout, stderr } = await cli('query', '-t', 'people');
    assert.equal(code, 0, stderr);
    const [header = '', rule = '', first = '', second = ''] = stdout.split('\n');
    assert.match(header, /^PartitionKey +RowKey +Timestamp +Name +/);
    assert.match(rule, /^-+( {2}-+)+$/);
    assert.match(first, /9007199254740993/);
    assert.match(first, /2020-01-02T03:04:05\.1200000Z/);
    assert.match(first, / 3\.0 /);
    assert.match(first, /c9da6455-213d-42c9-9a79-3e9149a57833/);
    assert.match(second, /B\\x1b\[31m/);
    assert.equal(header.indexOf('Name'), first.indexOf('Ann'));
  });

  void it('gives back columns that are named like members of every object', async () => {
    const names = Object.getOwnPropertyNames(Object.prototype);
    const pairs = names.map((name, index) => `${name}:int64=${index}`);
    const keys = ['PartitionKey=Sales', 'RowKey=0001'];
    const inserted = await cli('insert', '-t', 'inherited', '--create', ...keys, ...pairs);
    assert.equal(inserted.code, 0, inserted.stderr);
    const csv = `PartitionKey,RowKey,${names.join(',')}\nSales,0002,${names.join(',')}\n`;
    const connection = ['-c', started.server.connectionString()];
    const options = ['-t', 'inherited', '--input-format', 'csv', ...connection];
    const imported = await runCommand(['table', 'import', '-', ...options], { input: csv });
    assert.equal(imported.code, 0, imported.stderr);
    const select = ['-s', names.join(','), '-f', "constructor eq 0L or __proto__ eq '__proto__'"];
    const { stdout, stderr } = await cli('query', '-t', 'inherited', '-o', 'jsonl', ...select);
    const [first = '', second = ''] = stdout.split('\n');
    names.forEach((name, index) => {
      assert.ok(first.includes(`"${name}":"${index}"`), `${name}: ${first}${stderr}`);
      assert.ok(second.includes(`"${name}":"${name}"`), `${name}: ${second}`);
    });
    const table = await cli('query', '-t', 'inherited', '-s', 'toString,valueOf,missing');
    assert.match(table.stdout, /^toString +valueOf *\n/);
  });

  void it('prints JSON from which an import restores every type', async () => {
    const { stdout } = await cli('query', '-t', 'people', '-o', 'jsonl');
    const input = { input: stdout };
    const connection = ['-c', started.server.connectionString()];
    const copied = await runCommand(
      ['table', 'import', '-', '-t', 'copied', '--mode', 'insert', ...connection],
      input,
    );
    assert.equal(copied.code, 0, copied.stderr);
    const again = await cli('query', '-t', 'copied', '-o', 'jsonl');
    const withoutTime = (text: string): string => text.replaceAll(/"Timestamp":"[^"]*"/g, '');
    assert.equal(withoutTime(again.stdout), withoutTime(stdout));
    const array = await cli('query', '-t', 'people', '-o', 'json', '-s', 'Name,rate');
    assert.match(array.stdout, /"rate":3\.0/);
    assert.equal((JSON.parse(array.stdout) as unknown[]).length, 2);
  });

  void it('explains the plan on standard error', async () => {
    const cases: [string, RegExp][] = [
      [
        "PartitionKey eq 'Sales' and RowKey eq '0001'",
        /point, 1 interval; .*scanned 1, returned 1/,
      ],
      ["PartitionKey eq 'Sales' and (RowKey eq '0001' or RowKey eq 'x')", /point, 2 intervals/],
      ["PartitionKey eq 'Sales' and RowKey gt '0001'", /range, 1 interval/],
      ["Name eq 'Ann'", /table-scan, 1 interval; .*scanned 2, returned 1; 1 request/],
    ];
    for (const [filter, plan] of cases) {
      const { stderr } = await cli('query', '-t', 'people', '-f', filter);
      assert.match(stderr, plan);
      assert.equal(/Warning: .*whole table/.test(stderr), filter.startsWith('Name'));
    }
    const silent = await cli('query', '-t', 'people', '--no-plan');
    assert.equal(silent.stderr, '');
  });

  void it('estimates the plan when the service does not tell', async () => {
    const target = started.server.tableEndpoint;
    await using proxy = await startProxy(target, () => 'pass', ['x-tabularium-plan']);
    const connection = started.server
      .connectionString()
      .replace(/TableEndpoint=http:\/\/[^/]+/, `TableEndpoint=${proxy.origin}`);
    const env = { AZURE_STORAGE_CONNECTION_STRING: connection };
    const args = ['table', 'query', '-t', 'people', '-f', "PartitionKey eq 'Sales'"];
    const { stderr } = await runCommand(args, { env });
    assert.match(stderr, /partition-scan, 1 interval \(estimated from the filter\)/);
    assert.equal(proxy.count, 1);
  });

  void it('follows pages with --all and stops at --top', costly(), async () => {
    const rows = Array.from({ length: 2300 }, (_, at) => `${String(at).padStart(5, '0')}\n`);
    const connection = ['-c', started.server.connectionString()];
    const args = ['table', 'import', '-', '-t', 'many', '-p', "'all'", '-r', 'Id', ...connection];
    await runCommand(args, { input: `Id\n${rows.join('')}` });
    const count = (text: string): number => text.split('\n').length - 1;
    const all = await cli('query', '-t', 'many', '--all', '-o', 'jsonl');
    assert.equal(count(all.stdout), 2300);
    assert.match(all.stderr, /scanned 2,30\d, returned 2,300; 3 requests/);
    const top = await cli('query', '-t', 'many', '--top', '1200', '-o', 'jsonl');
    assert.equal(count(top.stdout), 1200);
    const few = await cli('query', '-t', 'many', '-o', 'jsonl');
    assert.equal(count(few.stdout), 100);
    assert.match(few.stderr, /There are more rows/);
  });

  void it('tells what the service or the connection says', async () => {
    const missing = await cli('query', '-t', 'missing');
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /error: TableNotFound \(404\): The table specified does not exist/,
    );
    const syntax = await cli('query', '-t', 'people', '-f', 'Name eq');
    assert.equal(syntax.code, 1);
    assert.match(syntax.stderr, /InvalidInput \(400\)/);
    const nobody = 'AccountName=a;AccountKey=YQ==;TableEndpoint=http://127.0.0.1:1/a';
    const refused = await runCommand(['table', 'query', '-t', 'people', '-c', nobody]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Nothing listens at http:\/\/127\.0\.0\.1:1\/a.*tabularium start/);
    const bad = await runCommand(['table', 'query', '-t', 'people', '-c', 'AccountKey=c2VjcmV0']);
    assert.equal(bad.code, 2);
    assert.ok(!bad.stderr.includes('c2VjcmV0'));
  });
});

void describe('tabularium table insert', () => {
  void it('refuses an existing row unless it is told to replace or merge', async () => {
    const keys = ['PartitionKey=u', 'RowKey=1'];
    const insert = (...args: string[]): Promise<CliResult> =>
      cli('insert', '-t', 'people', ...keys, ...args);
    const row = async (): Promise<string> =>
      (await cli('query', '-t', 'people', '-f', "PartitionKey eq 'u'", '-o', 'jsonl', '-s', 'a,b'))
        .stdout;
    assert.equal((await insert('a=1')).code, 0);
    const again = await insert('a=2');
    assert.equal(again.code, 1);
    assert.match(again.stderr, /EntityAlreadyExists \(409\)/);
    assert.equal((await insert('--upsert', 'merge', 'b:int32=2')).code, 0);
    assert.match(await row(), /"a":"1","b":2/);
    assert.equal((await insert('--upsert', 'replace', 'b:int32=3')).code, 0);
    assert.doesNotMatch(await row(), /"a":"1"/);
  });

  void it('refuses what is no row before it asks the service', async () => {
    const cases: [string[], RegExp][] = [
      [['RowKey=1'], /needs a PartitionKey/],
      [['PartitionKey=a', 'RowKey=1', 'age:int32=x'], /Column age is no Edm\.Int32: 'x'/],
      [['PartitionKey=a', 'RowKey=1', 'age:int=1', 'age=2'], /given twice/],
      [['PartitionKey=a', 'RowKey=1', 'a-b=2'], /cannot name a column/],
      [['PartitionKey=a', 'RowKey=1', 'a:number=2'], /no type 'number'/],
      [['PartitionKey=a/b', 'RowKey=1'], /out of range/],
      [['--json', '{'], /processing this request/],
    ];
    for (const [args, message] of cases) {
      const result = await cli('insert', '-t', 'people', ...args);
      assert.equal(result.code, 2, args.join(' '));
      assert.match(result.stderr, message);
    }
  });
});
