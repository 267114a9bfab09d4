import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressesOf, isUnprepared, shownAddress } from './hosts.js';

describe('addresses of a database', () => {
  it('are one for each host, in order, with all that the hosts share', () => {
    assert.deepEqual(addressesOf('postgres://user:p%40ss@first:5433,second/name?sslmode=require'), [
      'postgres://user:p%40ss@first:5433/name?sslmode=require',
      'postgres://user:p%40ss@second/name?sslmode=require',
    ]);
    assert.deepEqual(addressesOf('postgresql://one'), ['postgresql://one']);
    // A password that is not encoded: the package takes the last @ as well.
    assert.deepEqual(addressesOf('postgres://user:p@s,s@first,second/name'), [
      'postgres://user:p@s,s@first/name',
      'postgres://user:p@s,s@second/name',
    ]);
  });

  it('are of one scheme, with ports that there are', () => {
    const badPorts = ['postgres://host:99999/name', 'postgres://first:5432,second:x/name'];
    const others = ['', 'mysql://user@host/name', 'host:5432', '/var/run'];
    for (const url of [...others, ...badPorts]) {
      assert.equal(addressesOf(url), undefined, url);
    }
  });

  it('may ask for statements that are not prepared', () => {
    const url = 'postgres://user@host/name';
    const asking = [`${url}?prepare=false`, `${url}?sslmode=require&prepare=false&other=1`];
    for (const each of asking) assert.equal(isUnprepared(each), true, each);
    for (const each of [url, `${url}?prepare=true`, `${url}?unprepare=false`]) {
      assert.equal(isUnprepared(each), false, each);
    }
  });

  it('are shown without password and parameters', () => {
    const shown = {
      'postgres://user:secret@host:5432/name?password=secret': 'postgres://user@host:5432/name',
      'postgres://user:se@cr:et@host:5432/name': 'postgres://user@host:5432/name',
      'postgres://:secret@host/name': 'postgres://@host/name',
      'postgres://user@host/name': 'postgres://user@host/name',
      'postgres://user@host:5432/name': 'postgres://user@host:5432/name',
      'postgres://host:5432/name': 'postgres://host:5432/name',
      'postgres://host/name': 'postgres://host/name',
      'postgres://host:5433/name?password=secret': 'postgres://host:5433/name',
      'postgres://first:5433,second:5434/name': 'postgres://first:5433,second:5434/name',
      'postgres://user:secret@first:1,second:2/name': 'postgres://user@first:1,second:2/name',
      'postgres://user:se@cret?@host/name': 'postgres://user@host/name',
      'postgres://user:se/cret@host/name?sslmode=require': 'postgres://user@host/name',
      'postgres://user:se?cret@host/name': 'postgres://user@host/name',
      'postgres://user:se?cret=1@host/name': 'postgres://user@host/name',
      'postgres://host:5433?password=se@cret': 'postgres://host:5433',
      'postgres://host/name?password=se@cret': 'postgres://host/name',
    };
    for (const [address, expected] of Object.entries(shown)) {
      assert.equal(shownAddress(address), expected);
    }
  });
});
