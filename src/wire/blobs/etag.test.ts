import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { etagHeader, etagText, parseEtagText } from './etag.js';
import { formatSnapshotTime, parseSnapshotTime } from './snapshot-time.js';

const micros = fc.integer({ min: 0, max: 4_102_444_800_000_000 });

describe('the etag of a blob', () => {
  it('is a hexadecimal number of fifteen digits, in quotes in headers', () => {
    assert.match(etagText(1_574_272_000_000_000), /^0x8D[0-9A-F]{13}$/);
    assert.equal(etagHeader(5), `"${etagText(5)}"`);
  });

  it('comes back to the time that it stands for', () => {
    fc.assert(fc.property(micros, (time) => parseEtagText(etagText(time)) === time));
  });

  it('is not recognised in another spelling', () => {
    const text = etagText(1_574_272_000_000_000);
    for (const other of [
      text.toLowerCase(),
      `${text}0`,
      text.slice(2),
      `0x0${text.slice(2)}`,
      '',
    ]) {
      assert.equal(parseEtagText(other), undefined, other);
    }
    fc.assert(fc.property(fc.string(), (any) => parseEtagText(any) === undefined));
  });
});

describe('the name of a snapshot', () => {
  it('has seven digits, sorts by time and comes back', () => {
    fc.assert(
      fc.property(micros, micros, (left, right) => {
        const [a, b] = [formatSnapshotTime(left), formatSnapshotTime(right)];
        assert.match(a, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
        assert.equal(a < b, left < right);
        assert.equal(parseSnapshotTime('snapshot', a), left);
      }),
    );
  });

  it('is refused in another form, and a time that no version can have finds none', () => {
    for (const text of ['', '2011-03-09', '2011-03-09T01:42:34Z', '2011-13-09T01:42:34.9360000Z']) {
      assert.throws(() => parseSnapshotTime('snapshot', text), {
        code: 'InvalidQueryParameterValue',
      });
    }
    assert.equal(parseSnapshotTime('versionid', '2011-03-09T01:42:34.9360000Z'), undefined);
    assert.equal(parseSnapshotTime('versionid', '0001-01-01T00:00:00.0000000Z'), undefined);
  });
});
