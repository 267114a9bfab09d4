import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allowsHost } from './source-hosts.js';

const allowed = (host: string, url: string) => allowsHost({ hosts: [host] }, new URL(url));

describe('the hosts of sources', () => {
  it('are names, all names under one, or all', () => {
    assert.ok(allowed('a.example', 'https://A.example/b'));
    assert.ok(allowed('a.example', 'https://a.example./b'));
    assert.ok(!allowed('a.example', 'https://b.a.example/b'));
    assert.ok(!allowed('a.example', 'https://a.example.evil/b'));
    assert.ok(allowed('.example', 'https://a.b.example/c'));
    assert.ok(!allowed('.example', 'https://example/c'));
    assert.ok(!allowed('.b.example', 'https://ab.example/c'));
    assert.ok(allowed('*', 'https://anything.test/c'));
    assert.ok(allowed('[::1]:*', 'http://[0:0::1]:99/c'));
  });

  it('have the ports of http and https, or those that are named', () => {
    assert.ok(
      allowed('a', 'http://a/') && allowed('a', 'https://a/') && allowed('a', 'http://a:443/'),
    );
    for (const host of ['a', '*']) assert.ok(!allowed(host, 'http://a:22/'), host);
    assert.ok(allowed('a:22', 'http://a:22/') && !allowed('a:22', 'http://a/'));
    assert.ok(allowed('a:443', 'https://a/') && !allowed('a:443', 'http://a/'));
    assert.ok(allowed('a:*', 'http://a:22/') && allowed('*:*', 'http://b:23/'));
  });

  it('are compared in the form in which they are asked', () => {
    const urls = ['http://2130706433/', 'http://0x7f.1/', 'http://0177.0.0.01/', 'http://127.1/'];
    for (const url of urls) assert.ok(allowed('127.0.0.1', url) && !allowed('127.1', url), url);
  });
});
