import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  letterOf,
  permissionLetters,
  permissionsOfLetters,
  scopesOfLetters,
} from './permission.js';
import {
  accountServiceLetters,
  byService,
  containerIdentity,
  containerNounOf,
  serviceNames,
  services,
  type ServiceName,
} from './services.js';

describe('the services', () => {
  it('are told apart by what is declared of them', () => {
    for (const one of [
      ({ name }) => name,
      ({ title }) => title,
      ({ plural }) => plural,
      ({ emulatorPort }) => emulatorPort,
      ({ container }) => container.noun,
      ({ signature }) => signature.letter,
    ] satisfies ((service: (typeof services)[ServiceName]) => string | number)[]) {
      assert.equal(
        new Set(serviceNames.map((name) => one(services[name]))).size,
        serviceNames.length,
      );
    }
  });

  it('are declared under their names', () => {
    assert.deepEqual(Object.keys(byService(containerNounOf)), serviceNames);
    assert.deepEqual(
      serviceNames.map((name) => services[name].name),
      serviceNames,
    );
  });

  it('sign with letters that all have a meaning', () => {
    for (const name of serviceNames) {
      const { permissions } = services[name].signature;
      assert.equal(permissionsOfLetters(permissions).size, permissions.length);
    }
  });

  it('name containers in any case or in one', () => {
    assert.equal(containerIdentity('table', 'People'), 'people');
    assert.equal(containerIdentity('queue', 'People'), 'People');
  });
});

describe('letters', () => {
  it('are found by their permissions', () => {
    for (const [letter, permission] of Object.entries(permissionLetters)) {
      assert.equal(letterOf(permission), letter);
    }
  });

  it('of an account are those of all services, and that of files', () => {
    assert.equal(accountServiceLetters, 'bqtf');
  });

  it('mean permissions and resource types, and others nothing', () => {
    assert.deepEqual([...permissionsOfLetters('zrsa')], ['read', 'add']);
    assert.deepEqual([...scopesOfLetters('zos')], ['object', 'service']);
  });
});
