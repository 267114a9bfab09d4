import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { tagsMax } from '../../model/blobs/tags.js';
import { parseBlobTags, renderBlobTags } from './blob-tags.js';

const tag = (name: string, value = 'v') => `<Tag><Key>${name}</Key><Value>${value}</Value></Tag>`;
const parse = (content: string) =>
  parseBlobTags(Buffer.from(`<Tags><TagSet>${content}</TagSet></Tags>`));

describe('the tags of a body', () => {
  it('come back as they were, white space included', () => {
    const text = fc.string({ unit: fc.constantFrom(...'aB9 +-./:=_'.split('')), maxLength: 8 });
    const tags = fc.uniqueArray(
      fc.tuple(
        text.filter((name) => name !== ''),
        text,
      ),
      { maxLength: tagsMax, selector: ([name]) => name },
    );
    fc.assert(
      fc.property(tags, (tags) => {
        assert.deepEqual(parseBlobTags(renderBlobTags(tags)), tags);
      }),
    );
  });

  it('may be none', () => {
    assert.deepEqual(parse(''), []);
    assert.equal(
      renderBlobTags([]).toString(),
      '<?xml version="1.0" encoding="utf-8"?><Tags><TagSet /></Tags>',
    );
  });

  it('are refused beyond their limits and in another document', () => {
    const many = Array.from({ length: tagsMax + 1 }, (_, index) => tag(`k${index}`)).join('');
    for (const [content, code] of [
      [many, 'TagsTooLarge'],
      [tag('k'.repeat(129)), 'TagsTooLarge'],
      [tag('k', 'v'.repeat(257)), 'TagsTooLarge'],
      [tag(''), 'EmptyTagName'],
      [tag('k') + tag('k'), 'DuplicateTagNames'],
      [tag('k', 'é'), 'InvalidTag'],
      [tag('k', '&lt;'), 'InvalidTag'],
      ['<Tag><Key>k</Key></Tag>', 'InvalidXmlDocument'],
      ['<Tag><Key>k</Key><Value>v</Value><More/></Tag>', 'InvalidXmlDocument'],
      ['<Other/>', 'InvalidXmlDocument'],
      ['text', 'InvalidXmlDocument'],
    ] as const) {
      assert.throws(() => parse(content), { code }, content.slice(0, 40));
    }
    for (const body of ['', '<Tags/>', '<TagSet/>', '<Tags><TagSet/><TagSet/></Tags>']) {
      assert.throws(() => parseBlobTags(Buffer.from(body)), { code: 'InvalidXmlDocument' }, body);
    }
  });
});
