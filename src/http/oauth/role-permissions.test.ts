import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serviceNames, type ServiceName } from '../../model/services/services.js';
import type { ScopedPermissions } from '../exchange/caller.js';
import { permissionsOf, type TokenRight } from './role-permissions.js';

const nothing: ReadonlyMap<string, readonly TokenRight[]> = new Map();

function allowed(
  names: { readonly roles?: readonly string[]; readonly scopes?: readonly string[] },
  service: ServiceName = 'table',
  configured = nothing,
): Record<keyof ScopedPermissions, string> {
  const { roles = [], scopes = [] } = names;
  const permissions = permissionsOf({ roles, scopes }, service, configured);
  const text = (scope: keyof ScopedPermissions) => [...permissions[scope]].sort().join(' ');
  return { service: text('service'), container: text('container'), object: text('object') };
}

function everywhere(text: string): Record<keyof ScopedPermissions, string> {
  return { service: text, container: text, object: text };
}

const none = everywhere('');
const writing = 'add create update write';

describe('permissions of tokens', () => {
  it('are none without names, and for names without a meaning', () => {
    assert.deepEqual(allowed({}), none);
    assert.deepEqual(allowed({ roles: ['Owner', 'storage table data reader', 'read'] }), none);
    assert.deepEqual(allowed({ scopes: ['Read', 'readwrite', 'Storage Table Data Reader'] }), none);
    assert.deepEqual(allowed({ scopes: ['constructor', '__proto__'] }), none);
  });

  it('of a role of tables are none on queues, and the other way round', () => {
    assert.deepEqual(allowed({ roles: ['Storage Table Data Contributor'] }, 'queue'), none);
    assert.deepEqual(allowed({ roles: ['Storage Queue Data Contributor'] }, 'table'), none);
  });

  it('of scopes are what they are called', () => {
    assert.deepEqual(allowed({ scopes: ['read'] }), everywhere('list read'));
    assert.deepEqual(allowed({ scopes: ['write'] }), everywhere(writing));
    assert.deepEqual(allowed({ scopes: ['delete'] }), everywhere('delete'));
  });

  it('to take messages come with reading and deleting them', () => {
    const { object, container } = allowed({ scopes: ['read', 'delete'] }, 'queue');
    assert.equal(object, 'delete list process read');
    assert.equal(container, 'delete list read');
  });

  it('of roles are limited by scopes beside them', () => {
    const roles = ['Storage Table Data Contributor'];
    assert.deepEqual(allowed({ roles, scopes: ['read'] }), everywhere('list read'));
    assert.deepEqual(allowed({ roles, scopes: ['openid'] }), none);
    assert.deepEqual(
      allowed({ roles: ['Storage Table Data Reader'], scopes: ['read', 'write'] }),
      everywhere('list read'),
    );
  });

  it('of roles are all there with the scope of acting for the user, which grants nothing', () => {
    const roles = ['Storage Table Data Reader'];
    assert.deepEqual(allowed({ roles, scopes: ['user_impersonation'] }), everywhere('list read'));
    assert.deepEqual(allowed({ scopes: ['user_impersonation'] }), none);
  });

  it('of configured names hold for both services, and go before the built-in ones', () => {
    const configured = new Map<string, readonly TokenRight[]>([
      ['Shop.Clerk', ['read', 'write']],
      ['Storage Table Data Contributor', ['read']],
      ['delete', []],
    ]);
    for (const service of serviceNames) {
      const clerk = allowed({ roles: ['Shop.Clerk'] }, service, configured);
      assert.deepEqual(clerk, everywhere(`add create list read update write`), service);
    }
    const contributor = { roles: ['Storage Table Data Contributor'] };
    assert.deepEqual(allowed(contributor, 'table', configured), everywhere('list read'));
    assert.deepEqual(allowed({ scopes: ['delete'] }, 'table', configured), none);
  });

  it('of several roles add up', () => {
    const roles = ['Storage Queue Data Message Sender', 'Storage Queue Data Message Processor'];
    assert.deepEqual(allowed({ roles }, 'queue'), {
      service: '',
      container: '',
      object: 'add process read',
    });
  });
});
