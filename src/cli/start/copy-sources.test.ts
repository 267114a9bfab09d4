import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { optionsOf } from '../../../test/support/start-settings.js';

describe('options of copies from other servers', () => {
  it('name hosts, and whether they may be private', () => {
    assert.equal(optionsOf([]).copySources, undefined);
    const hosts = ['a.example', '.b.example:8443', '*:*'];
    const flags = ['--copy-source', 'a.example,.b.example:8443', '--copy-source', '*:*'];
    assert.deepEqual(optionsOf(flags).copySources, { hosts });
    assert.deepEqual(optionsOf([...flags, '--copy-source-private']).copySources, {
      hosts,
      privateNetworks: true,
    });
  });

  it('are refused when they are no hosts, or name none', () => {
    for (const wrong of ['http://a', 'a/b', 'a:b', 'u@a', '']) {
      assert.throws(() => optionsOf(['--copy-source', wrong]), /--copy-source/, wrong);
    }
    assert.throws(
      () => optionsOf(['--copy-source-private']),
      /^UsageError: --copy-source-private needs --copy-source <host>\.$/,
    );
  });
});
