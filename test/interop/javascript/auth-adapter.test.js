import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableStorageAdapter } from '@auth/azure-tables-adapter';
import { all, freshTable } from './server.js';

// The adapter of Auth.js keeps users, accounts, sessions and verification tokens in one table. It
// takes every refusal for "not found", so each test also looks at what is stored.

const inAnHour = () => new Date(Date.now() + 3_600_000);

async function freshAdapter() {
  const table = await freshTable();
  return { table, adapter: TableStorageAdapter(table) };
}

function userOf(adapter) {
  return adapter.createUser({
    email: "ada.o'hara+1@example.com",
    name: 'Ada Łovelace',
    emailVerified: new Date('2026-01-02T03:04:05.678Z'),
  });
}

const account = (userId) => ({
  userId,
  type: 'oauth',
  provider: 'example',
  providerAccountId: '12345678901234567890',
  expires_at: 1_900_000_000,
});

void describe('the adapter of Auth.js', () => {
  void it('finds a user by id, by e-mail and by account', async () => {
    const { adapter } = await freshAdapter();
    const user = await userOf(adapter);
    await adapter.linkAccount(account(user.id));
    const found = [
      await adapter.getUser(user.id),
      await adapter.getUserByEmail(user.email),
      await adapter.getUserByAccount(account(user.id)),
    ];
    for (const each of found) {
      assert.equal(each.name, user.name);
      assert.deepEqual(each.emailVerified, user.emailVerified);
    }
    assert.equal(await adapter.getUserByEmail('nobody@example.com'), null);
  });

  void it('merges what is updated into a user', async () => {
    const { adapter } = await freshAdapter();
    const user = await userOf(adapter);
    await adapter.updateUser({ id: user.id, name: 'Augusta' });
    const found = await adapter.getUser(user.id);
    assert.equal(found.name, 'Augusta');
    assert.equal(found.email, user.email);
  });

  void it('creates, extends and ends a session', async () => {
    const { table, adapter } = await freshAdapter();
    const user = await userOf(adapter);
    const session = { sessionToken: 'token=+%', userId: user.id, expires: inAnHour() };
    await adapter.createSession({ ...session });
    const found = await adapter.getSessionAndUser(session.sessionToken);
    assert.deepEqual(found.session.expires, session.expires);
    assert.equal(found.user.email, user.email);
    const expires = new Date(session.expires.valueOf() + 1000);
    await adapter.updateSession({ sessionToken: session.sessionToken, expires });
    const extended = await adapter.getSessionAndUser(session.sessionToken);
    assert.deepEqual(extended.session.expires, expires);
    assert.equal(extended.session.userId, user.id);
    await adapter.deleteSession(session.sessionToken);
    assert.equal(await adapter.getSessionAndUser(session.sessionToken), null);
    const left = await all(table.listEntities());
    assert.deepEqual(
      left.map(({ partitionKey }) => partitionKey),
      ['user', 'userByEmail'],
    );
  });

  void it('accepts a verification token once', async () => {
    const { adapter } = await freshAdapter();
    const token = { identifier: 'ada@example.com', token: 'abc123', expires: inAnHour() };
    await adapter.createVerificationToken({ ...token });
    assert.equal(await adapter.useVerificationToken({ ...token, identifier: 'eve' }), null);
    const used = await adapter.useVerificationToken(token);
    assert.deepEqual(used.expires, token.expires);
    assert.equal(await adapter.useVerificationToken(token), null);
  });

  void it('leaves nothing of a deleted user', async () => {
    const { table, adapter } = await freshAdapter();
    const user = await userOf(adapter);
    await adapter.linkAccount(account(user.id));
    await adapter.createSession({ sessionToken: 's', userId: user.id, expires: inAnHour() });
    await adapter.deleteUser(user.id);
    assert.deepEqual(await all(table.listEntities()), []);
  });
});
