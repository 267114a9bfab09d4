import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ErrorCode } from '../../../model/errors/registry.js';
import { StorageError } from '../../../model/errors/storage-error.js';
import { ipInRange, parseIpRange } from './ip-range.js';
import {
  checkSasAddress,
  checkSasProtocol,
  checkSasWindow,
  parseSasTime,
  sasWindow,
} from './terms.js';

function refuses(code: ErrorCode, run: () => unknown): void {
  assert.throws(run, (error) => error instanceof StorageError && error.code === code);
}

describe('times of a signature', () => {
  it('are read in every form of the protocol', () => {
    const noon = Date.UTC(2024, 2, 1, 12) * 1000;
    for (const [text, micros] of [
      ['2024-03-01', Date.UTC(2024, 2, 1) * 1000],
      ['2024-03-01T12:00Z', noon],
      ['2024-03-01T12:00:00Z', noon],
      ['2024-03-01T12:00:00.5Z', noon + 500_000],
      ['2024-03-01T12:00:00.1234567Z', noon + 123_456],
      ['2024-03-01T14:00+02:00', noon],
      ['2024-03-01T10:30:00-01:30', noon],
      ['1969-12-31T23:59:59Z', -1_000_000],
    ] as const) {
      assert.equal(parseSasTime(text), micros, text);
    }
  });

  it('are nothing else', () => {
    for (const text of [
      '',
      'now',
      '2024-03-01Z',
      '2024-3-1',
      '2024-03-01T12Z',
      '2024-03-01T12:00',
      '2024-03-01 12:00:00Z',
      '2024-03-01T24:00:00Z',
      '2024-02-30',
      '2024-03-01T12:00:00.Z',
      '2024-03-01T12:00:00.12345678Z',
      'Fri, 01 Mar 2024 12:00:00 GMT',
      '1709294400',
    ]) {
      assert.equal(parseSasTime(text), undefined, text);
      refuses('AuthenticationFailed', () => sasWindow({ start: text, expiry: undefined }));
      refuses('AuthenticationFailed', () => sasWindow({ expiry: text }));
    }
  });

  it('bound a window from the start up to, not with, the expiry', () => {
    const window = sasWindow({ start: '2024-03-01', expiry: '2024-03-02' });
    const [start, expiry] = [Date.UTC(2024, 2, 1) * 1000, Date.UTC(2024, 2, 2) * 1000];
    checkSasWindow(window, start);
    checkSasWindow(window, expiry - 1);
    refuses('AuthenticationFailed', () => checkSasWindow(window, start - 1));
    refuses('AuthenticationFailed', () => checkSasWindow(window, expiry));
    checkSasWindow(sasWindow({ expiry: '2024-03-02' }), 0);
    checkSasWindow(sasWindow({ start: '2024-03-01' }), expiry);
    assert.throws(() => checkSasWindow(window, expiry), /Server failed/);
  });

  it('are told when the moment lies outside', () => {
    try {
      checkSasWindow(sasWindow({ expiry: '2024-03-02' }), Date.UTC(2024, 2, 3) * 1000);
      assert.fail();
    } catch (error) {
      assert.ok(error instanceof StorageError);
      assert.equal(
        error.details[0]?.[1],
        'Signature not valid in the specified time frame: Start [] - ' +
          'Expiry [Sat, 02 Mar 2024 00:00:00 GMT] - Current [Sun, 03 Mar 2024 00:00:00 GMT].',
      );
    }
  });
});

describe('protocols of a signature', () => {
  it('are both, or https alone', () => {
    for (const protocol of [undefined, 'https,http', 'http,https']) {
      checkSasProtocol({ protocol }, false);
      checkSasProtocol({ protocol }, true);
    }
    checkSasProtocol({ protocol: 'https' }, true);
    refuses('AuthorizationProtocolMismatch', () => checkSasProtocol({ protocol: 'https' }, false));
  });

  it('are never http alone, or anything else', () => {
    for (const protocol of ['http', 'HTTPS', 'https,', 'https, http', 'https,http,https']) {
      refuses('AuthenticationFailed', () => checkSasProtocol({ protocol }, false));
    }
  });
});

describe('addresses of a signature', () => {
  it('are one, or a range with both its ends', () => {
    checkSasAddress({ ip: undefined }, '::1');
    checkSasAddress({ ip: '10.0.0.1' }, '10.0.0.1');
    for (const address of [
      '10.0.0.250',
      '10.0.1.0',
      '10.0.1.9',
      '::ffff:10.0.1.9',
      '::FFFF:10.0.1.9',
    ]) {
      checkSasAddress({ ip: '10.0.0.250-10.0.1.9' }, address);
    }
    for (const address of ['10.0.0.249', '10.0.1.10', '::ffff:10.0.1.10', '::1', '', '10.0.1']) {
      refuses('AuthorizationSourceIPMismatch', () =>
        checkSasAddress({ ip: '10.0.0.250-10.0.1.9' }, address),
      );
    }
  });

  it('hold exactly the addresses between their ends', () => {
    const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
    const value = ([a, b, c, d]: readonly number[]) =>
      (a ?? 0) * 2 ** 24 + (b ?? 0) * 2 ** 16 + (c ?? 0) * 2 ** 8 + (d ?? 0);
    fc.assert(
      fc.property(octets, octets, octets, (first, last, address) => {
        const range = parseIpRange(`${first.join('.')}-${last.join('.')}`);
        if (value(first) > value(last)) return assert.equal(range, undefined);
        assert.ok(range !== undefined);
        const isInside = value(first) <= value(address) && value(address) <= value(last);
        assert.equal(ipInRange(range, address.join('.')), isInside);
        return assert.equal(ipInRange(range, `::ffff:${address.join('.')}`), isInside);
      }),
    );
  });

  it('are IPv4, in their plain form', () => {
    for (const ip of [
      '',
      '-',
      '10.0.0.1-',
      '-10.0.0.1',
      '10.0.0.1-10.0.0.2-10.0.0.3',
      '10.0.0.256',
      '10.0.0',
      '10.0.0.01',
      '10.0.0.1 - 10.0.0.2',
      '10.0.0.0/24',
      '0x0a.0.0.1',
      '::1',
      '::ffff:10.0.0.1',
      '10.0.0.2-10.0.0.1',
    ]) {
      assert.equal(parseIpRange(ip), undefined, ip);
      refuses('AuthenticationFailed', () => checkSasAddress({ ip }, '10.0.0.1'));
    }
  });
});
