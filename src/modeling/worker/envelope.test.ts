import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  decodeEnvelope,
  encodeEnvelope,
  withUncounted,
  MessageTooLargeError,
  poisonText,
  withoutPoison,
  type Envelope,
  type PoisonNote,
  type TextEncoding,
} from './envelope.js';
import { messageTextBytesMax } from './queue-port.js';
import type { JsonValue } from '../definition/structured-types.js';

const text = fc.string({ unit: 'binary', minLength: 1 });
const anyEnvelope: fc.Arbitrary<Envelope> = fc.record(
  {
    type: text,
    version: fc.integer({ min: 1 }),
    id: text,
    payload: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as JsonValue),
    uncounted: fc.nat(),
  },
  { noNullPrototype: true },
);
const anyEncoding = fc.constantFrom<TextEncoding>('text', 'base64');
const note: PoisonNote = { reason: 'failed', error: 'boom', queue: 'work', deliveries: 5 };

function decoded(message: string): Envelope {
  const result = decodeEnvelope(message);
  assert.equal(result.kind, 'envelope');
  return result.kind === 'envelope' ? result.envelope : assert.fail();
}

describe('the envelope of a message', () => {
  it('is read back as it was written, in either encoding', () => {
    fc.assert(
      fc.property(anyEnvelope, anyEncoding, (envelope, encoding) => {
        assert.deepEqual(decoded(encodeEnvelope(envelope, encoding)), envelope);
      }),
    );
  });

  it('has only characters that XML can carry', () => {
    const ugly: Envelope = {
      type: '\uffff',
      version: 1,
      id: '\u0000\ufffe',
      payload: '\ud800',
      uncounted: 0,
    };
    fc.assert(
      fc.property(anyEnvelope, (envelope) => {
        const sent = encodeEnvelope(envelope, 'text');
        // oxlint-disable-next-line no-control-regex -- they are what must not be there
        assert.doesNotMatch(sent, /[\u0000-\u001f\ufffe\uffff]|\p{Surrogate}/u);
        assert.deepEqual(decoded(sent), envelope);
      }),
      { examples: [[ugly]] },
    );
  });

  it('is refused when it would not fit with a note, and says what to do', () => {
    const envelope = (length: number): Envelope => ({
      type: 'big',
      version: 1,
      id: 'x',
      payload: 'a'.repeat(length),
      uncounted: 0,
    });
    encodeEnvelope(envelope(63_000), 'text');
    assert.throws(() => encodeEnvelope(envelope(63_500), 'text'), MessageTooLargeError);
    encodeEnvelope(envelope(47_000), 'base64');
    assert.throws(() => encodeEnvelope(envelope(48_000), 'base64'), /'big'.*row or a blob/);
  });

  it('gets no text for an envelope that it is not, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.base64String()), (any) => {
        assert.equal(decodeEnvelope(any).kind, 'malformed');
      }),
    );
    const good = { v: 1, type: 't', version: 1, id: 'i', payload: {} };
    assert.equal(decodeEnvelope(JSON.stringify(good)).kind, 'envelope');
    const faults: object[] = [
      { v: 2 },
      { type: '' },
      { type: 5 },
      { version: 0 },
      { version: 1.5 },
      { id: '' },
      { payload: undefined },
      { uncounted: -1 },
    ];
    for (const fault of faults) {
      const corrupted = JSON.stringify({ ...good, ...fault });
      assert.equal(decodeEnvelope(corrupted).kind, 'malformed', corrupted);
    }
  });
});

describe('a poisoned message', () => {
  it('keeps its envelope and tells why', () => {
    fc.assert(
      fc.property(anyEnvelope, anyEncoding, (envelope, encoding) => {
        const sent = encodeEnvelope(envelope, encoding);
        const poisoned = poisonText({ text: sent, envelope }, note, encoding);
        assert.deepEqual(decoded(poisoned), { ...envelope, poison: note });
        const again = decoded(withoutPoison(poisoned, encoding));
        assert.deepEqual(again, { ...envelope, uncounted: 0 });
      }),
    );
  });

  it('keeps the text of what was no envelope, and gives it back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), anyEncoding, (text, encoding) => {
        const poisoned = poisonText({ text, envelope: undefined }, note, encoding);
        assert.equal(withoutPoison(poisoned, encoding), text);
      }),
    );
  });

  it('always fits: the note gives way, then goes', () => {
    const longest = { ...note, error: '\u0001'.repeat(10_000) };
    for (let length = 62_000; length <= messageTextBytesMax; length += 97) {
      const text = '"'.repeat(length / 2) + 'x'.repeat(length / 2);
      for (const encoding of ['text', 'base64'] as const) {
        const poisoned = poisonText({ text, envelope: undefined }, longest, encoding);
        assert.ok(Buffer.byteLength(poisoned) <= messageTextBytesMax);
        assert.equal(withoutPoison(poisoned, encoding), text);
      }
    }
  });

  it('has room for its note when it was sent by this library', () => {
    const payload = 'a'.repeat(63_350);
    const envelope: Envelope = { type: 't', version: 1, id: 'i', payload, uncounted: 0 };
    const sent = encodeEnvelope(envelope, 'text');
    const plain = { ...note, error: 'e'.repeat(10_000) };
    const { poison } = decoded(poisonText({ text: sent, envelope }, plain, 'text'));
    assert.equal(poison?.error.length, 500);
    assert.equal(decoded(withUncounted(envelope, sent, 'text')).uncounted, 1);
  });
});
