import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseXml, xmlDepthMax, xmlElementsMax, type XmlLimits } from './reader.js';
import { costly } from '../../../test/support/run-length.js';

/** The details of the refusal of a document. */
function refusal(body: string | Buffer, limits?: XmlLimits): Readonly<Record<string, string>> {
  let error: unknown;
  try {
    parseXml(Buffer.from(body), limits);
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof StorageError, body.toString('latin1'));
  assert.equal(error.code, 'InvalidXmlDocument');
  return Object.fromEntries(error.details);
}

describe('parseXml', () => {
  it('gives elements in order, text beside them and text within them', () => {
    const root = parseXml(Buffer.from('<a> 1<b>2</b>3<c x="y"/><b>4</b></a>'));
    assert.equal(root.name, 'a');
    assert.equal(root.text, ' 13');
    assert.equal(root.textContent, ' 1234');
    assert.deepEqual(
      root.children.map(({ name, text }) => [name, text]),
      [
        ['b', '2'],
        ['c', ''],
        ['b', '4'],
      ],
    );
  });

  it('reads a byte order mark, a declaration, comments, CDATA and references', () => {
    const declaration = `<?xml version='1.0' encoding='UTF-8' standalone="yes"?>`;
    const document = `\ufeff${declaration}\r\n<!-- <x> --><a><!-- & -->1<![CDATA[<&>]]><?p <?>&lt;&amp;&gt;&quot;&apos;&#x1F600;&#13;</a>\n`;
    assert.equal(parseXml(Buffer.from(document)).text, `1<&><&>"'😀\r`);
  });

  it('makes line feeds of line breaks and keeps all other white space', () => {
    assert.equal(parseXml(Buffer.from('<a> \t\r\n\r\n\r </a>')).text, ' \t\n\n\n ');
  });

  it('refuses what is not well-formed and says where', () => {
    assert.deepEqual(refusal('<a>\n  <b></a>'), {
      LineNumber: '2',
      LinePosition: '6',
      Reason: 'Missing end tag for element b.',
    });
    for (const document of [
      '',
      ' ',
      'text',
      '<a>',
      '<a></b>',
      '<a/><b/>',
      '<a/>text',
      '<a>&nbsp;</a>',
      '<a>&</a>',
      '<a>]]></a>',
      '<a b=c/>',
      '<a b="1" b="2"/>',
      '<a b="<"/>',
      '<a><!-- -- --></a>',
      '<a><![CDATA[</a>',
      '<a>&#0;</a>',
      '<a>&#xD800;</a>',
      '<a>\u0001</a>',
      '<a>\uffff</a>',
      '< a/>',
      ' <?xml version="1.0"?><a/>',
    ]) {
      assert.notEqual(refusal(document)['Reason'], undefined, document);
    }
  });

  it('refuses every encoding but UTF-8', () => {
    assert.deepEqual(refusal(Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e])), {
      Reason: 'The body is not valid UTF-8.',
    });
    assert.notEqual(refusal(Buffer.from('\ufeff<a/>', 'utf16le'))['Reason'], undefined);
    assert.deepEqual(refusal('<?xml version="1.0" encoding="iso-8859-1"?><a/>'), {
      Reason: 'The encoding iso-8859-1 is not UTF-8.',
    });
  });

  it('refuses a document type, so that no entity can be declared', () => {
    const reason = { Reason: 'A document type declaration is not allowed.' };
    assert.deepEqual(refusal('<!DOCTYPE a><a/>'), reason);
    assert.deepEqual(refusal('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), reason);
    assert.equal(parseXml(Buffer.from('<a><![CDATA[<!DOCTYPE a>]]></a>')).text, '<!DOCTYPE a>');
  });

  it('bounds elements', () => {
    const flat = (count: number) => `<a>${'<b/>'.repeat(count - 1)}</a>`;
    parseXml(Buffer.from(flat(xmlElementsMax)));
    const reason = { Reason: `The document has more than ${xmlElementsMax} elements.` };
    assert.deepEqual(refusal(flat(xmlElementsMax + 1)), reason);
  });

  it('bounds how deep they nest, however many there may be', () => {
    const nested = (depth: number, tag = 'a') => `<${tag}>`.repeat(depth) + '</a>'.repeat(depth);
    const limits = { elementsMax: 50_000 };
    const reason = { Reason: `More than ${xmlDepthMax} elements are inside of each other.` };
    for (const tag of ['a', 'a b="/>"', "a b='/>'", 'a b="\'/>"']) {
      parseXml(Buffer.from(nested(xmlDepthMax, tag)), limits);
      assert.deepEqual(refusal(nested(xmlDepthMax + 1, tag), limits), reason);
    }
    assert.deepEqual(refusal('<a>/>'.repeat(40_000), limits), reason);
    const beside = `<b c="/" d='>'/>`.repeat(40_000);
    parseXml(Buffer.from(`<a>${beside}</a>`), limits);
  });

  it('counts no element where there is only text', () => {
    const marks = '<b>'.repeat(xmlElementsMax + 1);
    const document = `<?p ${marks}?><a><!--${marks}--><![CDATA[${marks}]]></a>`;
    assert.equal(parseXml(Buffer.from(document)).text, marks);
  });

  it('quotes no more of a document than a line', () => {
    assert.ok((refusal(`<a>&${'b'.repeat(100_000)};</a>`)['Reason'] ?? '').length < 300);
  });

  it('takes no more than linear time', costly(), () => {
    // A megabyte of each. Quadratic work would take minutes, and the process is killed before that.
    const script = `
      const { parseXml } = await import(${JSON.stringify(new URL('reader.js', import.meta.url))});
      const megabyte = (unit) => unit.repeat(Math.floor(2 ** 20 / unit.length));
      const documents = [
        ['<a>', '\\r', '</a>'], ['<a>', '\\r\\n', '</a>'], ['<a b="', '\\r', '"/>'],
        ['<a><![CDATA[', '\\r', ']]></a>'], ['<a><!--', '\\r', '--></a>'], ['<a>', '&amp;', '</a>'],
        ['<a b="', '&amp;', '"/>'], ['<a>&', 'b', ';</a>'], ['<a>&#', '9', ';</a>'],
        ['<a>', '<![CDATA[]]>', '</a>'], ['<a>', '<![CDATA[', ''], ['<a>', '<!---->', '</a>'],
        ['<a>', '<!--', ''], ['<a>', '<?p?>', '</a>'], ['<a>', '<?', ''], ['<a>', ']]', '</a>'],
        ['<a', ' ', '/>'], ['', ' ', '<a/>'], ['<a>', '😀&lt;', '</a>'], ['<a b="', '<', ''],
        ['<', 'a', '/>'], ['<a>', '<b>', ''], ['<a>', '&', ''], ['<a b=', '"', ''],
      ];
      let answered = 0;
      for (const [head, unit, tail] of documents) {
        try { parseXml(Buffer.from(head + megabyte(unit) + tail)); }
        catch (error) { if (error.code !== 'InvalidXmlDocument') throw error; }
        answered += 1;
      }
      const names = Array.from({ length: 50_000 }, (_, index) => ' b' + index + '="1"').join('');
      parseXml(Buffer.from('<a' + names + '/>'));
      console.log(answered === documents.length ? 'answered' : 'not all');`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { timeout: 120_000, encoding: 'utf8' },
    );
    assert.equal(stdout.trim(), 'answered', stderr);
  });
});
