import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { ownerAccess, publicAccess } from '../operations/access.js';
import { tableRoutes } from '../tables/routes.js';
import { queueRoutes } from '../queues/routes.js';
import { authKindOf, type Caller } from '../exchange/caller.js';
import { authorise, checkContainer } from './authorise.js';
import type { Access } from '../exchange/access.js';
import type { Permission, Scope } from '../../model/services/permission.js';

const every: readonly Permission[] = [
  'read',
  'write',
  'delete',
  'list',
  'add',
  'create',
  'update',
  'process',
];
const permissions: ReadonlySet<Permission> = new Set(every);
const scopes: ReadonlySet<Scope> = new Set(['service', 'container', 'object'] as const);
const ofTable: Caller = {
  kind: 'container-sas',
  authKind: 'service-sas',
  service: 'table',
  permissions,
  container: 'people',
};
const ofQueue: Caller = { ...ofTable, service: 'queue', container: 'work' };
const ofAccount: Caller = {
  kind: 'account-sas',
  authKind: 'account-sas',
  permissions,
  resourceTypes: scopes,
};
const read: Access = { kind: 'granted', scope: 'object', permissions: ['read'], needs: 'all' };

/** The error code of a refusal. */
function refusal(caller: Caller, access: Access, container?: string): string | undefined {
  try {
    authorise(caller, access, container);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return error.code;
  }
}

describe('what a signature with every letter allows', () => {
  it('is on a table: its entities', () => {
    const allowed = tableRoutes.filter(
      ({ operation }) => refusal(ofTable, operation.access, 'People') === undefined,
    );
    assert.deepEqual(
      allowed.map(({ name }) => name),
      [
        'GetEntity',
        'QueryEntities',
        'InsertEntity',
        'UpdateEntity',
        'InsertOrReplaceEntity',
        'MergeEntity',
        'InsertOrMergeEntity',
        'DeleteEntity',
        'EntityGroupTransaction',
        'PreflightTableRequest',
      ],
    );
  });

  it('is on a queue: its messages and its count', () => {
    const allowed = queueRoutes.filter(
      ({ operation }) => refusal(ofQueue, operation.access, 'work') === undefined,
    );
    assert.deepEqual(
      allowed.map(({ name }) => name),
      [
        'PutMessage',
        'PeekMessages',
        'GetMessages',
        'DeleteMessage',
        'UpdateMessage',
        'GetQueueMetadata',
        'QueuePreflightRequest',
      ],
    );
  });

  it('is on an account: all but policies and keys', () => {
    const refused = [...tableRoutes, ...queueRoutes].filter(
      ({ operation }) => refusal(ofAccount, operation.access) !== undefined,
    );
    assert.deepEqual(
      refused.map(({ name }) => name),
      ['GetTableAcl', 'SetTableAcl', 'GetQueueACL', 'SetQueueACL', 'GetUserDelegationKey'],
    );
  });
});

describe('a signature for one container', () => {
  it('allows nothing of another, and nothing of one that is not named', () => {
    for (const container of ['people2', 'peopl', '', undefined]) {
      assert.equal(refusal(ofTable, read, container), 'AuthorizationFailure');
    }
    for (const container of ['work2', 'Work', '', undefined]) {
      assert.equal(refusal(ofQueue, read, container), 'AuthorizationFailure');
    }
  });

  it('of a table is for every spelling of its name, and proves nothing about others', () => {
    assert.equal(refusal(ofTable, read, 'PEOPLE'), undefined);
    checkContainer(ofTable, 'PeoPle');
    checkContainer(ofTable, undefined);
    checkContainer(ofAccount, 'others');
    assert.throws(() => checkContainer(ofTable, 'others'), { code: 'AuthenticationFailed' });
  });
});

describe('a caller without a shared access signature', () => {
  it('may do what is public, and everything with the account key', () => {
    const anonymous: Caller = { kind: 'anonymous' };
    const owner: Caller = { kind: 'owner', authKind: 'shared-key' };
    assert.equal(refusal(anonymous, publicAccess), undefined);
    assert.equal(refusal(anonymous, read, 'people'), 'AuthenticationFailed');
    assert.equal(refusal(owner, ownerAccess), undefined);
    assert.equal(refusal(owner, read), undefined);
  });

  it('is recorded with the kind of its credential', () => {
    assert.deepEqual(
      [{ kind: 'anonymous' as const }, ofTable, ofQueue, ofAccount].map(authKindOf),
      ['none', 'service-sas', 'service-sas', 'account-sas'],
    );
  });
});

describe('an anonymous request to a public container', () => {
  const blobRead: Access = { ...read, publicAt: 'blob' };
  const list: Access = { ...read, scope: 'container', publicAt: 'container' };
  const at = (publicLevel: 'blob' | 'container'): Caller => ({
    kind: 'anonymous',
    publicLevel,
    refusal: () => new StorageError('NoAuthenticationInformation'),
  });

  it('may do what the level of the container allows, and nothing else', () => {
    for (const [level, access, expected] of [
      ['blob', blobRead, undefined],
      ['blob', list, 'NoAuthenticationInformation'],
      ['blob', read, 'NoAuthenticationInformation'],
      ['container', blobRead, undefined],
      ['container', list, undefined],
      ['container', read, 'NoAuthenticationInformation'],
      ['container', ownerAccess, 'NoAuthenticationInformation'],
      ['container', { kind: 'credential', byToken: true }, 'NoAuthenticationInformation'],
      ['container', publicAccess, undefined],
    ] as const) {
      assert.equal(refusal(at(level), access, 'c'), expected, JSON.stringify([level, access]));
    }
  });

  it('may do nothing where the container is not public', () => {
    assert.equal(refusal({ kind: 'anonymous' }, blobRead, 'c'), 'AuthenticationFailed');
  });
});

describe('a signature for one blob', () => {
  const ofBlob: Caller = {
    ...ofTable,
    service: 'blob',
    container: 'c',
    permissions: new Set<Permission>([...every, 'tag']),
    isForObject: true,
  };

  it('allows nothing in the container beside blobs', () => {
    const list: Access = { ...read, scope: 'container', permissions: ['list'] };
    const { isForObject, ...ofContainer } = ofBlob;
    assert.equal(isForObject, true);
    assert.equal(refusal(ofBlob, read, 'c'), undefined);
    assert.equal(refusal(ofBlob, list, 'c'), 'AuthorizationFailure');
    assert.equal(refusal(ofContainer, list, 'c'), undefined);
    const byAccount: Access = { ...list, byAccountOnly: true };
    assert.equal(refusal(ofContainer, byAccount, 'c'), 'AuthorizationFailure');
    assert.equal(refusal(ofAccount, byAccount, 'c'), undefined);
  });

  it('is as good as any for what every credential may do', () => {
    const any: Access = { kind: 'credential', byToken: false };
    assert.equal(refusal(ofBlob, any, 'c'), undefined);
    assert.equal(refusal(ofAccount, any, 'c'), undefined);
  });
});
