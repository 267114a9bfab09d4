import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MalformedBatchError } from './malformed.js';
import { parseBatch, type Batch } from './parse-batch.js';
import type { BatchOperation } from './part-reader.js';

const outer = 'multipart/mixed; boundary=b';
const insert = ['', '', 'POST /t HTTP/1.1', 'Accept: application/json', '', '{"a":1}'];

interface Frame {
  readonly before?: readonly string[];
  readonly head?: readonly string[];
  readonly parts?: readonly (readonly string[])[];
  readonly after?: readonly string[];
  readonly lineEnd?: string;
}

/** A valid batch with one insert, except for what the test changes. */
function frame(changes: Frame = {}): string {
  const head = ['--b', 'Content-Type: multipart/mixed; boundary=c', ''];
  const {
    before = [],
    parts = [insert],
    after = ['--c--', '--b--', ''],
    lineEnd = '\r\n',
  } = changes;
  const lines = [...before, ...(changes.head ?? head)];
  for (const part of parts) lines.push('--c', ...part);
  return [...lines, ...after].join(lineEnd);
}

function parse(text: string | Buffer, contentType = outer): Batch {
  return parseBatch(Buffer.isBuffer(text) ? text : Buffer.from(text), contentType);
}

function operations(text: string | Buffer): readonly BatchOperation[] {
  const batch = parse(text);
  assert.ok(batch.kind === 'changeset');
  return batch.operations;
}

function refused(batch: Batch): { code: string; message: string; index: number | undefined } {
  assert.ok(batch.kind === 'refused');
  const { code, message, operationIndex } = batch.error;
  return { code, message, index: operationIndex };
}

function assertMalformed(text: string, contentType = outer): void {
  assert.throws(() => parse(text, contentType), MalformedBatchError, JSON.stringify(text));
}

describe('parseBatch: heads of operations', () => {
  const part = (target: string, body: string) => ['', `POST ${target} HTTP/1.1`, 'X: y', '', body];

  it('are shared by neighbours that have the same', () => {
    const parts = [part('/t', '{"a":1}'), part('/t', '{"a":22}'), part('/u', '{}'), part('/t', '')];
    const heads = operations(frame({ parts })).map(({ head }) => head);
    assert.equal(heads[0], heads[1]);
    assert.deepEqual(
      heads.map(({ target }) => target),
      ['/t', '/t', '/u', '/t'],
    );
  });

  it('are shared by operations without a body', () => {
    const [first, second] = operations(frame({ parts: [part('/t', ''), part('/t', '')] }));
    assert.equal(first?.head, second?.head);
    assert.equal(second?.text(), '');
  });
});

describe('parseBatch: what surrounds an operation', () => {
  it('may have text before and after the parts', () => {
    const text = frame({
      before: ['This is a multi-part message.', 'not --b', ''],
      after: ['--c--', 'epilogue', '--b--', '--b--', 'epilogue'],
    });
    assert.equal(operations(text).length, 1);
  });

  it('may end without a line break after the closing delimiter', () => {
    assert.equal(operations(frame({ after: ['--c--', '--b--'] })).length, 1);
  });

  it('may have white space after a boundary', () => {
    const text = frame({
      head: ['--b \t', 'Content-Type: multipart/mixed; boundary=c', ''],
      after: ['--c-- ', '--b--\t'],
    });
    assert.equal(operations(text).length, 1);
  });

  it('may mix line ends and repeat blank lines', () => {
    const text =
      '--b\nContent-Type: multipart/mixed; boundary=c\r\n\n\r\n\n--c\r\n' +
      'content-TYPE: application/http\n\r\n\n\nPOST /t HTTP/1.1\nAccept: x\r\nPrefer:y\n\n\r\n\r\n' +
      '{"a":1}\n\r\n\r\n--c--\n--b--';
    const [operation] = operations(text);
    assert.equal(operation?.text(), '{"a":1}');
    assert.equal(operation.headers.get('accept'), 'x');
    assert.equal(operation.headers.get('prefer'), 'y');
  });

  it('may lack MIME headers and the blank line after the last header', () => {
    const text = frame({ parts: [['DELETE /t HTTP/1.1', 'If-Match: *']] });
    const [operation] = operations(text);
    assert.equal(operation?.headers.get('if-match'), '*');
    assert.equal(operation.text(), '');
  });

  it('may fold a header over two lines', () => {
    const head = ['--b', 'Content-Type: multipart/mixed;', '\tboundary=c', ''];
    assert.equal(operations(frame({ head })).length, 1);
  });
});

describe('parseBatch: operations', () => {
  it('keeps a boundary that is not a whole line at a line start in the body', () => {
    for (const body of ['{"a":"--c"}', '{"a":"\\r\\n--c--"}', 'x\r\n--cc\r\n--c--d\r\n --c']) {
      const part = ['', 'POST /t HTTP/1.1', '', body];
      assert.deepEqual(
        operations(frame({ parts: [part, insert] })).map((operation) => operation.text()),
        [body, '{"a":1}'],
      );
    }
  });

  it('decodes bodies and targets as UTF-8 and headers as Latin-1', () => {
    const part = ['', "PUT /t(PartitionKey='é',RowKey='日') HTTP/1.1", 'X: é', '', '{"a":"é日😀"}'];
    const [operation] = operations(frame({ parts: [part] }));
    assert.equal(operation?.target, "/t(PartitionKey='é',RowKey='日')");
    assert.equal(operation.text(), '{"a":"é日😀"}');
    assert.equal(operation.headers.get('x'), Buffer.from('é').toString('latin1'));
  });

  it('keeps the headers of neighbours apart when one block begins like the other', () => {
    const blocks = [
      ['If-Match: *', ''],
      ['If-Match: *', 'Accept: x', ''],
      ['If-Match: *'],
      ['If-Match: *a', ''],
      [''],
      ['If-Match: *', ''],
    ];
    for (const lineEnd of ['\n', '\r\n']) {
      const parts = blocks.map((block) => ['', 'DELETE /t HTTP/1.1'].concat(block));
      assert.deepEqual(
        operations(frame({ parts, lineEnd })).map(({ headers }) => [
          headers.get('if-match'),
          headers.get('accept'),
        ]),
        [
          ['*', undefined],
          ['*', 'x'],
          ['*', undefined],
          ['*a', undefined],
          [undefined, undefined],
          ['*', undefined],
        ],
      );
    }
  });

  it('reads every method', () => {
    const methods = ['POST', 'PUT', 'MERGE', 'PATCH', 'DELETE'];
    const parts = methods.map((method) => ['', `${method} /t HTTP/1.1`, '', '']);
    assert.deepEqual(
      operations(frame({ parts })).map(({ method }) => method),
      methods,
    );
  });

  it('takes the first of two headers with one name', () => {
    const part = ['', 'DELETE /t HTTP/1.1', 'If-Match: a', 'IF-MATCH: b', ''];
    assert.equal(operations(frame({ parts: [part] }))[0]?.headers.get('if-match'), 'a');
  });
});

describe('parseBatch: rules of a batch', () => {
  it('allows 100 operations and refuses the 101st with the index 99', () => {
    const parts = (count: number) => Array.from({ length: count }, () => insert);
    assert.equal(operations(frame({ parts: parts(100) })).length, 100);
    assert.deepEqual(refused(parse(frame({ parts: parts(101) }))), {
      code: 'InvalidInput',
      message: 'The batch request operation exceeds the maximum 100 changes per change set.',
      index: 99,
    });
  });

  it('refuses a query inside a changeset, also a tunnelled one', () => {
    for (const query of [
      ['', 'GET /t HTTP/1.1', '', ''],
      ['', 'POST /t HTTP/1.1', 'X-HTTP-Method: get', '', ''],
    ]) {
      assert.deepEqual(refused(parse(frame({ parts: [insert, query] }))), {
        code: 'InvalidInput',
        message: 'One of the request inputs is not valid.',
        index: 1,
      });
    }
  });

  it('accepts one query alone', () => {
    const text = '--b\r\n\r\nGET /t()?$top=1 HTTP/1.1\r\nAccept: x\r\n\r\n--b--\r\n';
    const batch = parse(text);
    assert.ok(batch.kind === 'query');
    assert.equal(batch.operation.target, '/t()?$top=1');
  });

  it('finds every other frame malformed', () => {
    const query = ['--b', '', 'GET /t HTTP/1.1', '', ''];
    const second = ['--c--', '--b', 'Content-Type: multipart/mixed; boundary=d', '', '--d'];
    const end = ['--b--', ''];
    for (const text of [
      '',
      '--b',
      '--b--\r\n',
      frame({ parts: [] }),
      frame({ after: ['--c--', ...query, ...end] }),
      frame({ before: query }),
      frame({ after: [...second, ...insert, '--d--', ...end] }),
      [...query, ...query, ...end].join('\r\n'),
      ['--b', ...insert, ...end].join('\r\n'),
    ]) {
      assertMalformed(text);
    }
  });

  it('never executes what was cut off', () => {
    assertMalformed(frame({ after: ['--c--', '--b'] }));
    assertMalformed(frame({ after: ['--c', '--b--'] }));
    assertMalformed(frame({ after: ['--b--'] }));
    assertMalformed(frame({ after: ['--b--', '--c--', '--b--'] }));
    const whole = frame({ parts: [insert, insert], after: ['--c--', '--b--'] });
    for (let length = 0; length < whole.length; length += 1) {
      assertMalformed(whole.slice(0, length));
    }
  });

  it('finds broken parts malformed', () => {
    for (const part of [
      [],
      ['', ''],
      ['Content-Type: application/http', ''],
      ['no header', '', 'POST /t HTTP/1.1', ''],
      ['', 'POST /t'],
      ['', 'POST  HTTP/1.1', ''],
      ['', 'POST /t HTTP/2', ''],
      ['', 'HEAD /t HTTP/1.1', ''],
      ['', 'post /t HTTP/1.1', ''],
      ['', 'POST /t HTTP/1.1', 'no header', '', ''],
      ['', 'POST /t HTTP/1.1', ': no name', '', ''],
      ['', 'POST /t HTTP/1.1', ' folded', '', ''],
      ['', 'POST /t HTTP/1.1', 'a: 1\r2', '', ''],
      ['', 'POST /t HTTP/1.1', 'a: 1\0', '', ''],
    ]) {
      assertMalformed(frame({ parts: [part] }));
    }
  });

  it('bounds the head of a part and its fields', () => {
    const long = 'x'.repeat(128 * 1024);
    assertMalformed(frame({ parts: [['', `POST /${long} HTTP/1.1`, '', '']] }));
    assertMalformed(frame({ parts: [['', 'POST /t HTTP/1.1', `a: ${long}`, '', '']] }));
    assertMalformed(frame({ parts: [[`a: ${long}`, '', 'POST /t HTTP/1.1', '', '']] }));
    const fields = Array.from({ length: 65 }, (_, index) => `h${index}: x`);
    assertMalformed(frame({ parts: [['', 'POST /t HTTP/1.1', ...fields, '', '']] }));
    const folds = Array.from({ length: 65 }, () => ' x');
    assertMalformed(frame({ parts: [['', 'POST /t HTTP/1.1', 'a: b', ...folds, '', '']] }));
  });

  it('bounds lines that only look like delimiters', () => {
    const lookalikes = Array.from({ length: 1001 }, () => '--bx');
    assertMalformed(frame({ before: lookalikes }));
    assert.equal(operations(frame({ before: lookalikes.slice(1) })).length, 1);
  });

  it('needs a usable multipart/mixed type', () => {
    for (const type of [
      '',
      'multipart/mixed',
      'application/json; boundary=b',
      'multipart/mixed; boundary=',
    ]) {
      assertMalformed(frame(), type);
    }
    assertMalformed(frame({ head: ['--b', 'Content-Type: multipart/mixed', ''] }));
  });
});
