import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemRandomness } from '../../base/randomness.js';
import { composeBatch } from './compose.js';
import { MalformedBatchError } from './malformed.js';
import { batchOperationsMax, parseBatch } from './parse-batch.js';

/** Parses anything; whatever happens must be an answer and never another error. */
function assertAnswered(body: Buffer, contentType: string): void {
  try {
    const batch = parseBatch(body, contentType);
    if (batch.kind !== 'changeset') return;
    assert.ok(batch.operations.length >= 1 && batch.operations.length <= batchOperationsMax);
  } catch (error) {
    assert.ok(error instanceof MalformedBatchError, String(error));
  }
}

/** Pieces of batches, so that chance reaches deep into the parser. */
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

describe('parseBatch on hostile input', () => {
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
      { numRuns: 2000 },
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
      { numRuns: 1000 },
    );
  });
});
