import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import {
  defaultApiVersion,
  knownApiVersions,
  oldestApiVersion,
} from '../../wire/http/api-versions.js';
import { silentLogger, type LogFields } from '../exchange/logger.js';
import { VersionGate } from './version-gate.js';

const unknownVersions = ['2027-01-01', '2099-12-31', '2019-02-03'];

function openGate(strict: boolean) {
  const warnings: LogFields[] = [];
  const logger = {
    ...silentLogger,
    warn: (_message: string, fields: LogFields = {}) => void warnings.push(fields),
  };
  return { gate: new VersionGate({ strict, logger }), warnings };
}

function assertRefused(gate: VersionGate, version: string): void {
  assert.throws(
    () => gate.admit(version),
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
      const { gate, warnings } = openGate(strict);
      for (const version of knownApiVersions) assert.equal(gate.admit(version), version);
      assert.deepEqual(warnings, []);
    });

    it('has a default', () => {
      assert.equal(openGate(strict).gate.admit(undefined), defaultApiVersion);
    });

    it('is refused with its name and value when it is no date or too old', () => {
      const { gate, warnings } = openGate(strict);
      for (const version of ['', '2009-04-13', '2019-02-30', '2019-2-2', 'latest', '2019-02-02 ']) {
        assertRefused(gate, version);
      }
      assert.deepEqual(warnings, []);
    });
  });
}

describe('an unknown x-ms-version', () => {
  it('is served by default, and the log says so once', () => {
    const { gate, warnings } = openGate(false);
    for (const version of [...unknownVersions, ...unknownVersions]) {
      assert.equal(gate.admit(version), version);
    }
    assert.deepEqual(
      warnings.map(({ version }) => version),
      unknownVersions,
    );
  });

  it('is refused with its name and value when versions are strict', () => {
    const { gate, warnings } = openGate(true);
    for (const version of unknownVersions) assertRefused(gate, version);
    assert.deepEqual(warnings, []);
  });

  it('cannot fill the log, however many there are', () => {
    const { gate, warnings } = openGate(false);
    for (let year = 2100; year < 2400; year += 1) {
      assert.equal(gate.admit(`${year}-01-01`), `${year}-01-01`);
    }
    assert.equal(warnings.length, 100);
  });
});
