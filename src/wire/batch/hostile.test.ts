import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemRandomness } from '../../base/randomness.js';
import { composeBatch } from './compose.js';
import { MalformedBatchError } from './malformed.js';
import { batchOperationsMax, parseBatch } from './parse-batch.js';
import type { BatchOperation } from './part-reader.js';

/** Checks that any body yields operations or a documented error, and no other error. */
function assertAnswered(body: Buffer, contentType: string): void {
  try {
    const batch = parseBatch(body, contentType);
    if (batch.kind !== 'changeset') return;
    assert.ok(batch.operations.length >= 1 && batch.operations.length <= batchOperationsMax);
  } catch (error) {
    assert.ok(error instanceof MalformedBatchError, String(error));
  }
}

/** Pieces of batches, so that random input reaches deep into the parser. */
const pieces = fc.constantFrom(
  '--b',
  '--c',
  '--b--',
  '--c--',
  '\r\n',
  '\n',
  '\r',
  '--',
  'Content-Type: multipart/mixed; boundary=c',
  'Content-Type: application/http',
  'POST /t HTTP/1.1',
  'GET /t HTTP/1.1',
  'DELETE ',
  ' HTTP/1.1',
  'If-Match: *',
  ': ',
  '\t',
  '\0',
  '{}',
  'é',
);

const sound = composeBatch(
  Array.from({ length: 3 }, (_, index) => ({
    method: 'PUT' as const,
    target: `/t(PartitionKey='p',RowKey='${index}')`,
    headers: [['Accept', 'application/json'] as const],
    body: '{"a":"é"}',
  })),
  systemRandomness,
);

const edit = fc.record({
  at: fc.nat({ max: sound.body.length }),
  removed: fc.nat({ max: 20 }),
  inserted: fc.oneof(
    fc.uint8Array({ maxLength: 10 }),
    pieces.map((piece) => Buffer.from(piece)),
  ),
});

/** What a changeset of these parts contains; undefined when it is malformed. */
function said(parts: readonly string[]): readonly unknown[] | undefined {
  const lines = parts.map((part) => `--c\r\n${part}\n`).join('');
  const open = '--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n';
  const body = Buffer.from(`${open}${lines}--c--\r\n--b--\r\n`);
  try {
    const batch = parseBatch(body, 'multipart/mixed; boundary=b');
    return batch.kind === 'changeset' ? batch.operations.map(shown) : undefined;
  } catch (error) {
    assert.ok(error instanceof MalformedBatchError, String(error));
    return undefined;
  }
}

function shown(operation: BatchOperation): unknown {
  const { method, target, headers, contentId } = operation;
  const fields = ['accept', 'x'].map((name) => headers.get(name));
  return [method, target, fields, contentId, operation.text()];
}

/** Parts with common beginnings, of random length. */
const part = fc
  .array(
    fc.constantFrom(
      '\r\n',
      '\n',
      '\r\n\r\n',
      '\n\n',
      ' ',
      '\t',
      'Content-Type: application/http\r\n\r\n',
      'POST /t HTTP/1.1\r\n',
      'PUT /t HTTP/1.1\r\n',
      'Accept: y\r\n',
      'X: z\r\n',
      '{}',
      '{"a":1}',
    ),
    { maxLength: 4 },
  )
  .chain((rest) =>
    fc.constantFrom(
      `POST /t HTTP/1.1\r\nAccept: y\r\n\r\n${rest.join('')}`,
      `POST /t HTTP/1.1\r\nAccept: y\r\n${rest.join('')}`,
      `POST /t HTTP/1.1\n\n${rest.join('')}`,
      rest.join(''),
    ),
  );

describe('parseBatch on hostile input', () => {
  it('reads each part as if it were alone', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 4 }), (parts) => {
        const together = said(parts);
        const alone = parts.map((each) => said([each]));
        const all = alone.some((each) => each === undefined) ? undefined : alone.flat();
        assert.deepEqual(together, all, JSON.stringify(parts));
        if (together !== undefined) read += 1;
      }),
      { numRuns: 250 },
    );
    assert.ok(read > 50, `only ${read} changesets were read`);
  });

  it('answers random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        assertAnswered(Buffer.from(bytes), 'multipart/mixed; boundary=b');
      }),
    );
  });

  it('answers random media types', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assertAnswered(sound.body, text);
        assertAnswered(sound.body, `multipart/mixed;${text}`);
        assertAnswered(sound.body, `multipart/mixed; boundary="${text}"`);
      }),
    );
  });

  it('answers shuffled pieces of batches', () => {
    const text = fc.array(pieces, { maxLength: 60 }).map((found) => found.join(''));
    const open = '--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n';
    fc.assert(
      fc.property(text, fc.boolean(), (text, opened) => {
        assertAnswered(Buffer.from(opened ? open + text : text), 'multipart/mixed; boundary=b');
      }),
      { numRuns: 400 },
    );
  });

  it('answers edited batches', () => {
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        let body = sound.body;
        for (const { at, removed, inserted } of edits) {
          body = Buffer.concat([body.subarray(0, at), inserted, body.subarray(at + removed)]);
        }
        assertAnswered(body, sound.contentType);
      }),
      { numRuns: 250 },
    );
  });
});
