import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { escapeXml } from './escape.js';

describe('escapeXml', () => {
  it('escapes markup and the carriage return', () => {
    assert.equal(escapeXml(`<a b="c">&'\r\n\t`), `&lt;a b=&quot;c&quot;&gt;&amp;'&#xD;\n\t`);
  });

  it('replaces what XML cannot hold and keeps all other characters', () => {
    assert.equal(escapeXml('\0\u001f\ud800x\udc00\ufffe'), '\ufffd\ufffd\ufffdx\ufffd\ufffd');
    assert.equal(escapeXml('é日本😀\u0085\ufffd'), 'é日本😀\u0085\ufffd');
  });
});
