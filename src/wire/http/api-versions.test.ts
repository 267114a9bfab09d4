import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRepositoryFile } from '../../../test/support/repository-files.js';
import { defaultApiVersion, knownApiVersions, oldestApiVersion } from './api-versions.js';

describe('the versions of the services', () => {
  it('are those that the protocol lists, oldest first', () => {
    const page = readRepositoryFile('docs/protocol/queue-service.md');
    const [, listed = ''] = /^The versions are ([^[]*)/m.exec(page) ?? [];
    assert.deepEqual(knownApiVersions, listed.match(/\d{4}-\d\d-\d\d/g));
    assert.deepEqual(knownApiVersions, [...knownApiVersions].sort());
    assert.equal(knownApiVersions[0], oldestApiVersion);
    assert.ok(knownApiVersions.includes(defaultApiVersion));
  });
});
