import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { authorise } from '../pipeline/authorise.js';
import type { Access } from '../exchange/access.js';
import type { Caller } from '../exchange/caller.js';
import type { Permission } from '../../model/services/permission.js';
import { requestRulesOf, strictRules } from '../operations/request-rules.js';
import { getEntity } from './get-entity.js';
import { changeEntity, grantedUnder, upsertEntity } from './write-entity.js';

const none: ReadonlySet<Permission> = new Set();

function mayDo(access: Access, ...permissions: Permission[]): boolean {
  const object = new Set(permissions);
  const held = { service: none, container: none, object };
  const caller: Caller = {
    kind: 'bearer',
    authKind: 'bearer',
    issuer: 'https://issuer.example/',
    permissions: held,
  };
  try {
    authorise(caller, access, 'people');
    return true;
  } catch (error) {
    assert.ok(error instanceof StorageError && error.code === 'AuthorizationPermissionMismatch');
    return false;
  }
}

describe('an upsert', () => {
  it('takes both permissions', () => {
    const { access } = grantedUnder(strictRules, upsertEntity);
    assert.deepEqual(
      [mayDo(access, 'add'), mayDo(access, 'update'), mayDo(access, 'add', 'update')],
      [false, false, true],
    );
  });

  it('takes one of the two where that is allowed, and no other', () => {
    const { access } = grantedUnder(requestRulesOf(['upsert-permissions']), upsertEntity);
    assert.deepEqual(
      [mayDo(access, 'add'), mayDo(access, 'update'), mayDo(access, 'read', 'delete')],
      [true, true, false],
    );
  });

  it('is all that this allows', () => {
    const lenient = requestRulesOf(true);
    assert.equal(grantedUnder(lenient, changeEntity), changeEntity);
    assert.equal(grantedUnder(lenient, getEntity), getEntity);
    const others = requestRulesOf(lenient.items.filter((item) => item !== 'upsert-permissions'));
    assert.equal(grantedUnder(others, upsertEntity), upsertEntity);
  });
});
