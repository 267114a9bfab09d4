import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mediaTypeOf } from './media-type.js';

void it('tells the media type by the ending of a name, in any case', () => {
  assert.equal(mediaTypeOf('site/index.html'), 'text/html');
  assert.equal(mediaTypeOf('a.b.JPG'), 'image/jpeg');
  assert.equal(mediaTypeOf('app.mjs'), 'text/javascript');
  assert.match(String(mediaTypeOf('letter.docx')), /wordprocessingml/);
  for (const name of ['', 'html', 'a.', 'a.unknown', 'page.html/part', 'a.constructor']) {
    assert.equal(mediaTypeOf(name), undefined, name);
  }
});
