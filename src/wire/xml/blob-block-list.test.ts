import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { BlockReference, BlockSource } from '../../model/blobs/block-list.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { blocksMax, parseBlockList, renderBlockList } from './blob-block-list.js';

const declaration = '<?xml version="1.0" encoding="utf-8"?>';
const names = { committed: 'Committed', uncommitted: 'Uncommitted', latest: 'Latest' } as const;
const parse = (text: string) => parseBlockList(Buffer.from(text));
const block = (source: BlockSource, id: string): BlockReference => ({
  source,
  id: Buffer.from(id),
});
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the body of Put Block List', () => {
  const [a, b, c] = [base64('a'), base64('b'), base64('c')];
  const expected = [block('latest', 'b'), block('committed', 'a'), block('uncommitted', 'c')];

  it('keeps the order of the document, in every form that clients send', () => {
    const blocks = `<Latest>${b}</Latest><Committed>${a}</Committed><Uncommitted>${c}</Uncommitted>`;
    const spaced = blocks.replaceAll('><', '>\r\n  <');
    for (const text of [
      `${declaration}<BlockList>${blocks}</BlockList>`,
      `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<BlockList>\n${spaced}\n</BlockList>\n`,
      `<?xml version='1.0' encoding='utf-8'?>\n<BlockList>${blocks}</BlockList>`,
      `<BlockList>${blocks}</BlockList>`,
      // Not in the usual form.
      `\ufeff<BlockList xmlns="x">${spaced}</BlockList>`,
      `<BlockList><!-- c -->${blocks.replace(b, ` &#x${b.charCodeAt(0).toString(16)};${b.slice(1)} `)}</BlockList>`,
      `<BlockList>${blocks.replace(a, `<![CDATA[${a}]]>`)}</BlockList>`,
    ]) {
      assert.deepEqual(parse(text), expected, text);
    }
  });

  it('may be empty, and may repeat a block', () => {
    for (const text of ['<BlockList/>', '<BlockList />', '<BlockList></BlockList>']) {
      assert.deepEqual(parse(text), []);
    }
    const twice = `<Latest>${a}</Latest>`.repeat(2);
    assert.equal(parse(`<BlockList>${twice}</BlockList>`).length, 2);
  });

  it('gives back what was written', () => {
    const reference = fc.record<BlockReference>(
      {
        source: fc.constantFrom('committed', 'uncommitted', 'latest'),
        id: fc.uint8Array({ minLength: 1, maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(fc.array(reference), fc.constantFrom('', '\n', ' <!-- x -->'), (blocks, gap) => {
        const items = blocks.map(({ source, id }) => {
          const name = names[source];
          return `<${name}>${Buffer.from(id).toString('base64')}</${name}>${gap}`;
        });
        assert.deepEqual(parse(`<BlockList>${items.join('')}</BlockList>`), blocks);
      }),
    );
  });

  it('is refused when it is none', () => {
    for (const [text, code] of [
      ['', 'InvalidXmlDocument'],
      ['<BlockList>', 'InvalidXmlDocument'],
      [`<BlockList><Latest>${a}</Committed></BlockList>`, 'InvalidXmlDocument'],
      [`<BlockList><Latest>${a}</Latest></BlockList><x/>`, 'InvalidXmlDocument'],
      [`<Blocks><Latest>${a}</Latest></Blocks>`, 'InvalidXmlDocument'],
      [`<BlockList>text<Latest>${a}</Latest></BlockList>`, 'InvalidXmlDocument'],
      [`<BlockList><Block>${a}</Block></BlockList>`, 'UnsupportedXmlNode'],
      [`<BlockList><constructor>${a}</constructor></BlockList>`, 'UnsupportedXmlNode'],
      [`<BlockList><Latest><b/></Latest></BlockList>`, 'UnsupportedXmlNode'],
      ['<BlockList><Latest></Latest></BlockList>', 'InvalidBlockId'],
      ['<BlockList><Latest/></BlockList>', 'InvalidBlockId'],
      ['<BlockList><Latest>QQ</Latest></BlockList>', 'InvalidBlockId'],
      ['<BlockList><Latest>é</Latest></BlockList>', 'InvalidBlockId'],
      [`<BlockList><Latest>${base64('x'.repeat(65))}</Latest></BlockList>`, 'InvalidBlockId'],
    ] as const) {
      assert.throws(() => parse(text), { code }, text);
    }
  });

  it('has at most 50,000 blocks', () => {
    const list = (count: number) =>
      `<BlockList>${`<Latest>${a}</Latest>`.repeat(count)}</BlockList>`;
    assert.equal(parse(list(blocksMax)).length, blocksMax);
    assert.throws(() => parse(list(blocksMax + 1)), { code: 'BlockListTooLong' });
    const unusual = `<!-- c -->${list(blocksMax)}`;
    assert.throws(() => parse(unusual), { code: 'InvalidXmlDocument' });
  });

  it('is a list or a documented error, whatever the body is', () => {
    const part = fc.constantFrom(
      ...'<BlockList> </BlockList> <Latest> </Latest> <Committed> </Committed> QQ== Q = &amp;'.split(
        ' ',
      ),
      ...'<!-- --> <![CDATA[ ]]> <?xml ?> \ufeff é < >'.split(' '),
      ' ',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        try {
          parse(parts.join(''));
        } catch (error) {
          assert.ok(error instanceof StorageError && error.status === 400, String(error));
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe('the answer to Get Block List', () => {
  const info = (id: string, bytes: number) => ({ id: Buffer.from(id), bytes });

  it('has the sections that were asked for', () => {
    assert.equal(
      renderBlockList({ committed: [info('a', 3)], uncommitted: [info('b', 5)] }).toString(),
      `${declaration}<BlockList>` +
        '<CommittedBlocks><Block><Name>YQ==</Name><Size>3</Size></Block></CommittedBlocks>' +
        '<UncommittedBlocks><Block><Name>Yg==</Name><Size>5</Size></Block></UncommittedBlocks>' +
        '</BlockList>',
    );
    assert.equal(
      renderBlockList({ committed: [] }).toString(),
      `${declaration}<BlockList><CommittedBlocks /></BlockList>`,
    );
  });
});
