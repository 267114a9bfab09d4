import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { textElement } from './element.js';
import { parseMessageText, renderMessages, type RenderedMessage } from './queue-messages.js';
import { parseXml, type XmlElement } from './reader.js';

const insertedMicros = Date.parse('2009-10-09T21:04:30Z') * 1000 + 999_999;
const full: RenderedMessage = {
  id: '5974b586-0df3-4e2d-ad0c-18e3892bfca2',
  insertedMicros,
  expiresMicros: insertedMicros + 604_800_000_000,
  popReceipt: 'YzQ4Yzg1MDItYTc0Ny00OWNjLTkxYTUtZGM0MDFiZDAwYzEw',
  nextVisibleMicros: insertedMicros + 30_000_000,
  dequeueCount: 1,
  text: 'PHRlc3Q+',
};

const head = '<?xml version="1.0" encoding="utf-8"?><QueueMessagesList>';
const always =
  '<MessageId>5974b586-0df3-4e2d-ad0c-18e3892bfca2</MessageId>' +
  '<InsertionTime>Fri, 09 Oct 2009 21:04:30 GMT</InsertionTime>' +
  '<ExpirationTime>Fri, 16 Oct 2009 21:04:30 GMT</ExpirationTime>';
const receipt =
  '<PopReceipt>YzQ4Yzg1MDItYTc0Ny00OWNjLTkxYTUtZGM0MDFiZDAwYzEw</PopReceipt>' +
  '<TimeNextVisible>Fri, 09 Oct 2009 21:05:00 GMT</TimeNextVisible>';

function body(text: string): Buffer {
  return Buffer.from(`<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`);
}

function assertRefused(document: string | Buffer): void {
  assert.throws(
    () => parseMessageText(Buffer.from(document)),
    (error) => error instanceof StorageError && error.code === 'InvalidXmlDocument',
    document.toString(),
  );
}

/** Text as a client may send it: everything that XML can express. */
const anyText = fc.string({
  unit: fc.constantFrom(...Array.from('ab \t\r\n&<>"\'];é日😀\ufffd\ue000')),
});

/** Separated by spaces; a space is one itself. */
const contentPieces = [
  ' ',
  ...'a \n & &amp; &lt; &#xA; &#65; &#x0; &b; ; ]]> ]]'.split(' '),
  ...'> " \u0001 \ufffe \u00a0 é 😀 < <b> </b> <!----> &amp'.split(' '),
];

describe('renderMessages', () => {
  it('writes what Get answers in the documented order', () => {
    assert.equal(
      renderMessages([full]).toString(),
      `${head}<QueueMessage>${always}${receipt}<DequeueCount>1</DequeueCount>` +
        '<MessageText>PHRlc3Q+</MessageText></QueueMessage></QueueMessagesList>',
    );
  });

  it('leaves out what Put and Peek do not show', () => {
    const { dequeueCount, text, ...put } = full;
    assert.equal(
      renderMessages([put]).toString(),
      `${head}<QueueMessage>${always}${receipt}</QueueMessage></QueueMessagesList>`,
    );
    const { id, expiresMicros } = full;
    assert.equal(
      renderMessages([{ id, insertedMicros, expiresMicros, dequeueCount, text }]).toString(),
      `${head}<QueueMessage>${always}<DequeueCount>1</DequeueCount>` +
        '<MessageText>PHRlc3Q+</MessageText></QueueMessage></QueueMessagesList>',
    );
  });

  it('writes an empty list, and an expiry that never comes', () => {
    assert.equal(
      renderMessages([]).toString(),
      '<?xml version="1.0" encoding="utf-8"?><QueueMessagesList />',
    );
    const never = { ...full, expiresMicros: 253_402_300_799_000_000 };
    assert.match(
      renderMessages([never]).toString(),
      /<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</,
    );
  });

  it('gives every text back to a reader of XML, in order', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 5 }), (texts) => {
        const root = parseXml(renderMessages(texts.map((text) => ({ ...full, text }))));
        assert.equal(root.name, 'QueueMessagesList');
        assert.deepEqual(
          root.children.map((message) => message.children.at(-1)?.text),
          texts,
        );
      }),
    );
  });
});

describe('parseMessageText', () => {
  it('reads what the clients send', () => {
    const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
    for (const document of [
      `${declaration}<QueueMessage><MessageText>a&amp;b</MessageText></QueueMessage>`,
      `<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage><MessageText>a&amp;b</MessageText></QueueMessage>`,
      '\ufeff<QueueMessage>\r\n  <MessageText>a&#38;b</MessageText>\r\n</QueueMessage>\r\n',
      '<QueueMessage xmlns="x"><MessageText><![CDATA[a&b]]></MessageText></QueueMessage>',
      '<QueueMessage><!-- c --><MessageText>a<?p?>&amp;<!-- c -->b</MessageText></QueueMessage>',
    ]) {
      assert.equal(parseMessageText(Buffer.from(document)), 'a&b', document);
    }
  });

  it('keeps all white space, carriage returns included', () => {
    assert.equal(parseMessageText(body(' \t a\r\nb\rc\n\n ')), ' \t a\r\nb\rc\n\n ');
    assert.equal(parseMessageText(body('a&#xD;&#xA;&#13;&#10;b')), 'a\r\n\r\nb');
  });

  it('reads an empty text', () => {
    assert.equal(parseMessageText(body('')), '');
    assert.equal(parseMessageText(Buffer.from('<QueueMessage><MessageText /></QueueMessage>')), '');
  });

  it('decodes each reference once', () => {
    assert.equal(parseMessageText(body('&amp;lt;&lt;&amp;amp;&#x41;')), '&lt;<&amp;A');
  });

  it('gives back any text as it was escaped', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const sent = `<QueueMessage>${textElement('MessageText', text)}</QueueMessage>`;
        assert.equal(parseMessageText(Buffer.from(sent)), text);
      }),
    );
  });

  it('reads a usual body as the library reads it, whatever stands in it', () => {
    const pieces = fc.constantFrom(...contentPieces);
    const content = fc.array(pieces, { maxLength: 5 }).map((found) => found.join(''));
    const between = fc.constantFrom('', ' ', '\n\t', '\u00a0', '\ufeff', 'a', '<!---->');
    fc.assert(
      fc.property(content, between, between, (text, before, inside) => {
        const document = Buffer.from(
          `${before}<QueueMessage>${inside}<MessageText>${text}</MessageText></QueueMessage>`,
        );
        let root: XmlElement;
        try {
          root = parseXml(document);
        } catch {
          return assertRefused(document);
        }
        if (root.text.trim() !== '') return assertRefused(document);
        assert.equal(parseMessageText(document), root.children[0]?.textContent);
      }),
      { numRuns: 600 },
    );
  });

  it('takes markup out of a text and keeps what it holds', () => {
    assert.equal(
      parseMessageText(body('Hello <b>big <i>wide</i></b> world')),
      'Hello big wide world',
    );
  });

  it('refuses what is no message', () => {
    for (const document of [
      '',
      '<QueueMessage/>',
      '<QueueMessage>text</QueueMessage>',
      '<QueueMessage><Text>a</Text></QueueMessage>',
      '<QueueMessage><messagetext>a</messagetext></QueueMessage>',
      '<queuemessage><MessageText>a</MessageText></queuemessage>',
      '<Message><MessageText>a</MessageText></Message>',
      '<MessageText>a</MessageText>',
      '<QueueMessage>text<MessageText>a</MessageText></QueueMessage>',
      '<QueueMessage><MessageText>a</MessageText><MessageText>b</MessageText></QueueMessage>',
      '<QueueMessage><MessageText>a</MessageText><Other/></QueueMessage>',
      '<QueueMessage><MessageText>a</MessageText>',
    ]) {
      assertRefused(document);
    }
  });

  it('refuses characters that XML cannot express, escaped or not', () => {
    for (const text of ['\0', '\u000b', '\ufffe', '&#0;', '&#x1F;', '&#xD800;', '&#x110000;']) {
      assertRefused(body(text));
    }
    assertRefused(Buffer.concat([body('a').subarray(0, 30), Buffer.from([0xc3])]));
  });
});
