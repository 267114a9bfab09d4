import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import {
  defaultApiVersion,
  knownApiVersions,
  oldestApiVersion,
} from '../../wire/http/api-versions.js';
import { silentLogger, type LogFields } from '../exchange/logger.js';
import { ApiVersionPolicy } from './api-version-policy.js';

const unknownVersions = ['2027-01-01', '2099-12-31', '2019-02-03'];

function openPolicy(strict: boolean) {
  const warnings: LogFields[] = [];
  const logger = {
    ...silentLogger,
    warn: (_message: string, fields: LogFields = {}) => void warnings.push(fields),
  };
  return { policy: new ApiVersionPolicy({ strict, logger }), warnings };
}

function assertRefused(policy: ApiVersionPolicy, version: string): void {
  assert.throws(
    () => policy.admit(version),
    (error) => {
      assert.ok(error instanceof StorageError);
      assert.equal(error.code, 'InvalidHeaderValue');
      assert.deepEqual(error.details, [
        ['HeaderName', 'x-ms-version'],
        ['HeaderValue', version],
      ]);
      return true;
    },
    version,
  );
}

describe('the list of known versions', () => {
  it('has each once, oldest first, from the first version on', () => {
    assert.deepEqual([...new Set(knownApiVersions)].sort(), knownApiVersions);
    assert.equal(knownApiVersions[0], oldestApiVersion);
    assert.ok(knownApiVersions.includes(defaultApiVersion));
  });
});

for (const strict of [false, true]) {
  describe(`x-ms-version, ${strict ? 'strict' : 'by default'}`, () => {
    it('is echoed when it is a known one', () => {
      const { policy, warnings } = openPolicy(strict);
      for (const version of knownApiVersions) assert.equal(policy.admit(version), version);
      assert.deepEqual(warnings, []);
    });

    it('has a default', () => {
      assert.equal(openPolicy(strict).policy.admit(undefined), defaultApiVersion);
    });

    it('is refused with its name and value when it is no date or too old', () => {
      const { policy, warnings } = openPolicy(strict);
      for (const version of ['', '2009-04-13', '2019-02-30', '2019-2-2', 'latest', '2019-02-02 ']) {
        assertRefused(policy, version);
      }
      assert.deepEqual(warnings, []);
    });
  });
}

describe('an unknown x-ms-version', () => {
  it('is served by default, and the log says so once', () => {
    const { policy, warnings } = openPolicy(false);
    for (const version of [...unknownVersions, ...unknownVersions]) {
      assert.equal(policy.admit(version), version);
    }
    assert.deepEqual(
      warnings.map(({ version }) => version),
      unknownVersions,
    );
  });

  it('is refused with its name and value when versions are strict', () => {
    const { policy, warnings } = openPolicy(true);
    for (const version of unknownVersions) assertRefused(policy, version);
    assert.deepEqual(warnings, []);
  });

  it('cannot fill the log, however many there are', () => {
    const { policy, warnings } = openPolicy(false);
    for (let year = 2100; year < 2400; year += 1) {
      assert.equal(policy.admit(`${year}-01-01`), `${year}-01-01`);
    }
    assert.equal(warnings.length, 100);
  });
});
