import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { ContentionError, EntityExistsError, key, openTable } from '../../src/modeling/index.js';
import {
  indexEntity,
  indexedEntitiesOf,
  IndexValueTakenError,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { startServer } from '../support/start-server.js';
import { assertInStep, meddled, rowKeysOf } from './support/indexed-employees.js';
import { ListedEmployee } from './support/employees.js';
import { LostAnswers } from './support/lost-answers.js';
import { startTables } from './support/observed-tables.js';

// Many 409 and 412 responses, and lost responses.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const indexes = withIndexes(ListedEmployee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  lastName: indexEntity({
    place: 'same-partition',
    rowKey: (p) => key`name_${p.lastName}`,
    listUnitsMax: 128,
  }),
});

const jones = { department: 'Sales', id: 1, lastName: 'Jones', email: 'jones@x' };
const at = { department: 'Sales', id: 1 };
const any = { ifMatch: 'any' };

describe('writers of indexed entities', () => {
  it('count each change of one entity once, 16 at the same time', async () => {
    const { gateway } = await tables.newTable();
    const open = () => indexedEntitiesOf(indexes, { table: gateway });
    await open().insert(jones);
    await Promise.all(
      Array.from({ length: 16 }, (_, writer) =>
        open().update(at, (current) => ({
          ...current,
          raises: current.raises + 1,
          email: `jones${writer}@x`,
        })),
      ),
    );
    assert.equal((await open().get(at))?.raises, 16);
    await assertInStep(open());
    assert.equal((await rowKeysOf(gateway)).length, 3);
  });

  it('give a unique value to one of 16 who insert it at the same time', async () => {
    const { gateway } = await tables.newTable();
    const results = await Promise.allSettled(
      Array.from({ length: 16 }, (_, id) =>
        indexedEntitiesOf(indexes, { table: gateway }).insert({ ...jones, id }),
      ),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, 15);
    assert.ok(refused.every(({ reason }) => reason instanceof IndexValueTakenError));
    await assertInStep(indexedEntitiesOf(indexes, { table: gateway }));
    assert.equal((await rowKeysOf(gateway)).length, 3);
  });

  it('insert an entity once, 16 at the same time', async () => {
    const { gateway } = await tables.newTable();
    const results = await Promise.allSettled(
      Array.from({ length: 16 }, () =>
        indexedEntitiesOf(indexes, { table: gateway }).insert(jones),
      ),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, 15);
    assert.ok(refused.every(({ reason }) => reason instanceof EntityExistsError));
    await assertInStep(indexedEntitiesOf(indexes, { table: gateway }));
  });

  it('give up after as many attempts as they are told, and change nothing', async () => {
    const { gateway } = await tables.newTable();
    const employees = indexedEntitiesOf(indexes, { table: gateway });
    await employees.insert(jones);
    let table = gateway;
    for (let count = 0; count < 3; count++) {
      table = meddled(table, 'transact', () => employees.update(at, raised));
    }
    const update = indexedEntitiesOf(indexes, { table }).update(
      at,
      (current) => ({ ...current, email: 'new@x' }),
      { attemptsMax: 1 },
    );
    await assert.rejects(update, ContentionError);
    assert.equal((await employees.get(at))?.email, 'jones@x');
    await assertInStep(employees);
  });
});

function raised<T extends { readonly raises: number }>(current: T): T {
  return { ...current, raises: current.raises + 1 };
}

describe('a writer whose answer is lost', () => {
  it('recognises its own success, and applies it once', async () => {
    await using started = await startServer();
    const client = TableClient.fromConnectionString(
      started.server.connectionString(),
      'employees',
      {
        allowInsecureConnection: true,
        retryOptions: { maxRetries: 2, retryDelayInMs: 1 },
      },
    );
    await client.createTable();
    const lost = new LostAnswers();
    lost.install(client);
    const employees = indexedEntitiesOf(indexes, { table: openTable(client) });
    lost.lose(1, 'POST');
    const inserted = await employees.insert(jones);
    assert.equal(inserted.email, 'jones@x');
    lost.lose(1, 'POST');
    const updated = await employees.update(at, (current) => ({
      ...raised(current),
      lastName: 'Smith',
    }));
    assert.equal(updated.raises, 1);
    lost.lose(1, 'POST');
    const { etag } = await employees.merge(at, { email: 'smith@x' }, any);
    await employees.merge(at, { raises: 2 }, { ifMatch: etag });
    assert.equal((await employees.get(at))?.raises, 2);
    // The responses to the client's retries are lost too, and no attempt is left.
    lost.lose(3, 'POST');
    const last = await employees.update(at, raised, { attemptsMax: 1 });
    assert.equal(last.raises, 3);
    // Nothing shows whose deletion succeeded, so it is not sent again.
    lost.lose(3, 'POST');
    await assert.rejects(employees.delete(last), /socket hang up/);
    assert.equal(await employees.get(at), undefined);
    await assertInStep(employees);
  });
});
