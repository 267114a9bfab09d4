import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseBlockList, renderBlockList } from './blob-block-list.js';
import { parseBlobTags, renderBlobTags } from './blob-tags.js';
import { parseMessageText, renderMessages } from './queue-messages.js';
import {
  blobProperties,
  parseServiceProperties,
  queueProperties,
  renderServiceProperties,
  tableProperties,
} from './service-properties.js';
import { parseSignedIdentifiers, renderSignedIdentifiers } from './signed-identifiers.js';

const version = '2021-12-02';

/** Every reader of a body that clients can send. */
const readers: readonly ((body: Buffer) => unknown)[] = [
  parseMessageText,
  (body) => parseSignedIdentifiers(body, 'raup'),
  (body) => parseServiceProperties(body, version, queueProperties),
  (body) => parseServiceProperties(body, '2012-02-12', queueProperties),
  (body) => parseServiceProperties(body, version, tableProperties),
  (body) => parseServiceProperties(body, version, blobProperties),
  parseBlobTags,
  parseBlockList,
];

const retention = { enabled: true, days: 7 };
const metrics = { version: '1.0', enabled: true, includeApis: true, retention };
const properties = {
  logging: { version: '1.0', read: true, write: true, delete: false, retention },
  hourMetrics: metrics,
  minuteMetrics: { version: '1.0', enabled: false, retention: { enabled: false } },
  cors: [
    {
      allowedOrigins: ['http://a.example'],
      allowedMethods: ['GET', 'PUT'],
      allowedHeaders: ['x-ms-meta-*'],
      exposedHeaders: [],
      maxAgeSeconds: 500,
    },
  ],
};
const time = '2009-09-28T08:49:37.0000000Z';

const sound: readonly Buffer[] = [
  Buffer.from(
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><QueueMessage><MessageText>a&amp;é</MessageText></QueueMessage>',
  ),
  renderSignedIdentifiers([
    { id: 'a', start: time, expiry: time, permission: 'raup' },
    { id: 'b', permission: 'r' },
  ]),
  renderServiceProperties(properties, version),
  renderServiceProperties(properties, '2012-02-12'),
  renderServiceProperties(
    {
      ...properties,
      defaultServiceVersion: version,
      deleteRetention: { ...retention, allowPermanentDelete: true },
      staticWebsite: { enabled: true, indexDocument: 'a' },
    },
    version,
  ),
  renderBlobTags([
    ['a', 'b'],
    ['c d', ''],
  ]),
  renderBlockList({ committed: [{ id: Buffer.from('a'), bytes: 1 }] }),
  Buffer.from('<BlockList><Latest>QQ==</Latest><Committed>QUE=</Committed></BlockList>'),
  renderMessages([{ id: 'a', insertedMicros: 0, expiresMicros: 0, text: 'b' }]),
];

/**
 * Checks that any body yields a value or a documented error from every reader, and no other error.
 */
function assertAnswered(body: Buffer): void {
  for (const read of readers) {
    try {
      read(body);
    } catch (error) {
      assert.ok(error instanceof StorageError, String(error));
      assert.equal(error.status, 400);
      const sizes = error.details.map(([, value]) => value.length);
      assert.ok(Math.max(0, ...sizes) <= body.length + 300);
    }
  }
}

/** Pieces of documents, so that random input reaches deep into the readers. */
const pieces = fc.constantFrom(
  ' ',
  ...'< > /> </ <a> </a> <a_b="c"/> & &amp; &#1; &#xD800; &#99; <!-- --> <![CDATA[ ]]>'.split(' '),
  ...'<? ?> <?xml version= "1.0" <!DOCTYPE \r \n \0 \u0001 \ufeff \uffff é 😀 true -1 , *'.split(
    ' ',
  ),
  ...'<Id> </Id> <Days> </Days> <Cors/> <Metrics> <MessageText> <Start/>'.split(' '),
);

const edit = fc.record({
  /** From 0 to 1, from the start of a document to its end. */
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat({ max: 30 }),
  repeated: fc.nat({ max: 60 }),
  inserted: fc.oneof(
    fc.uint8Array({ maxLength: 10 }),
    pieces.map((piece) => Buffer.from(piece)),
  ),
});

describe('readers of XML on hostile input', () => {
  it('answer random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assertAnswered(Buffer.from(bytes));
      }),
    );
  });

  it('answer shuffled pieces of documents', () => {
    const text = fc.array(pieces, { maxLength: 40 }).map((found) => found.join(''));
    fc.assert(
      fc.property(text, fc.boolean(), (text, wrapped) => {
        assertAnswered(Buffer.from(wrapped ? `<a>${text}</a>` : text));
      }),
      { numRuns: 400 },
    );
  });

  it('answer edited documents', () => {
    const edits = fc.array(edit, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.constantFrom(...sound), edits, (document, edits) => {
        let body = document;
        for (const { place, removed, repeated, inserted } of edits) {
          const at = Math.floor(place * body.length);
          const from = Math.max(0, at - repeated);
          body = Buffer.concat([
            body.subarray(0, at),
            inserted,
            body.subarray(from, at),
            body.subarray(at + removed),
          ]);
        }
        assertAnswered(body);
      }),
      { numRuns: 600 },
    );
  });

  it('answer documents whose elements change places', () => {
    const fragments = sound.flatMap((body) => body.toString().match(/<[^>]+>|[^<]+/g) ?? []);
    const any = fc.constantFrom(...new Set(fragments));
    const swap = fc.tuple(fc.nat(), any);
    fc.assert(
      fc.property(fc.constantFrom(...sound), fc.array(swap, { maxLength: 5 }), (body, swaps) => {
        const parts = body.toString().match(/<[^>]+>|[^<]+/g) ?? [];
        for (const [at, fragment] of swaps) parts[at % parts.length] = fragment;
        assertAnswered(Buffer.from(parts.join('')));
      }),
      { numRuns: 400 },
    );
  });
});
