import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { CommandFailure } from '../terminal/failure.js';
import { csvRows, parseHeaderCell, readCsvHeader } from './csv-rows.js';
import { detectFormat } from './input-format.js';
import { jsonArrayRows, jsonLinesRows } from './json-rows.js';
import { sourceStart, type SourcePosition, type SourceRow } from './source-row.js';

const types = new Map();
const csv = { delimiter: ',', types, infer: false, keepEmpty: true };

/** Each way of reading that a resumed import uses: the bytes from an offset on. */
type Read = (
  bytes: AsyncIterable<Buffer>,
  from: SourcePosition,
  whole: Buffer,
) => Promise<readonly SourceRow[]>;

const readers: Readonly<Record<string, Read>> = {
  async csv(bytes, from, whole) {
    const header = from.offset === 0 ? undefined : await readCsvHeader(chunks(whole, [1]), csv);
    return collected(csvRows(bytes, csv, from, header));
  },
  jsonl: (bytes, from) => collected(jsonLinesRows(bytes, {}, from)),
  json: (bytes, from) => collected(jsonArrayRows(bytes, {}, from)),
};

async function collected(rows: AsyncIterable<SourceRow>): Promise<SourceRow[]> {
  const all: SourceRow[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

/** The bytes in pieces of the given sizes, over and over. */
async function* chunks(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

function encoded(format: string, texts: readonly string[]): Buffer {
  const rows = texts.map((text, at) => ({ id: String(at), text }));
  if (format === 'json') return Buffer.from(`\ufeff${JSON.stringify(rows, undefined, 2)}\n`);
  if (format === 'jsonl') {
    return Buffer.from(`\ufeff${rows.map((row) => `${JSON.stringify(row)}\r\n`).join('\n')}`);
  }
  const lines = rows.map(({ id, text }) => `${id},"${text.replaceAll('"', '""')}"\r\n`);
  return Buffer.from(`\ufeffid,text\r\n${lines.join('')}`);
}

const texts = fc.array(
  fc.string({ unit: fc.constantFrom('a', '"', '\\', '{', '}', '[', ']', ',', '\n', 'é', '😀') }),
  { maxLength: 8 },
);

function textsOf(rows: readonly SourceRow[]): unknown[] {
  return rows.map(({ columns }) => {
    assert.ok(Array.isArray(columns), columns instanceof Error ? columns.message : undefined);
    return columns.find(({ name }: { name: string }) => name === 'text')?.value.value;
  });
}

void describe('source rows', () => {
  for (const [format, read] of Object.entries(readers)) {
    void it(`of ${format} are the same however the bytes are cut, and from every row on`, () =>
      fc.assert(
        fc.asyncProperty(
          texts,
          fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
          async (expected, sizes) => {
            const whole = encoded(format, expected);
            const rows = await read(chunks(whole, sizes), sourceStart, whole);
            assert.deepEqual(textsOf(rows), expected);
            for (const [at, { end }] of rows.entries()) {
              assert.equal(end.row, at + 1);
              const rest = await read(chunks(whole.subarray(end.offset), sizes), end, whole);
              assert.deepEqual(rest, rows.slice(at + 1));
            }
          },
        ),
        { numRuns: 60 },
      ));
  }

  void it('know the line of every row', async () => {
    const text = 'id,text\n1,a\n\n2,"b\nb"\n3,c\n';
    const rows = await collected(csvRows(chunks(Buffer.from(text), [5]), csv, sourceStart));
    assert.deepEqual(
      rows.map(({ line }) => line),
      [2, 4, 6],
    );
    const json = '[\n{"a":1},\n\n {"a":\n2}, {"a":3}]';
    const objects = await collected(jsonArrayRows(chunks(Buffer.from(json), [3]), {}, sourceStart));
    assert.deepEqual(
      objects.map(({ line }) => line),
      [2, 4, 5],
    );
  });

  void it('stop with the line where the rest cannot be told apart', async () => {
    const open = Buffer.from('id,text\n1,a\n2,"b\n3,c\n');
    await assert.rejects(collected(csvRows(chunks(open, [4]), csv, sourceStart)), (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.match(error.message, /^Line 3: a quote/);
      return true;
    });
    for (const text of ['[{"a":1},\n{"a":', '[{"a":1},\n7]', '[{"a":1}\nx']) {
      const rows = jsonArrayRows(chunks(Buffer.from(text), [4]), {}, sourceStart);
      await assert.rejects(collected(rows), /^CommandFailure: Line 2: /, text);
    }
  });

  void it('take types from header cells', () => {
    assert.deepEqual(parseHeaderCell('age@Edm.Int32', types), { name: 'age', type: 'Edm.Int32' });
    assert.deepEqual(parseHeaderCell(' age:int64 ', types), { name: 'age', type: 'Edm.Int64' });
    assert.deepEqual(parseHeaderCell('ratio 1:2', types), { name: 'ratio 1:2', type: undefined });
    const given = new Map([['age', 'Edm.Double' as const]]);
    assert.deepEqual(parseHeaderCell('age:int64', given), { name: 'age', type: 'Edm.Double' });
  });

  void it('are looked for in the format that the name or the content shows', () => {
    const cases: [string, string, string][] = [
      ['a.CSV', '{', 'csv'],
      ['a.tsv', '', 'tsv'],
      ['a.ndjson', '[', 'jsonl'],
      ['-', ' \n[{"a":1}]', 'json'],
      ['-', '{"a":1}\n{"a":2}', 'jsonl'],
      ['a.json', '{\n"a":1}', 'json'],
      ['-', '\ufeffid,name\n', 'csv'],
    ];
    for (const [name, head, format] of cases) {
      assert.equal(detectFormat(name, Buffer.from(head)), format, `${name} ${head}`);
    }
  });
});
