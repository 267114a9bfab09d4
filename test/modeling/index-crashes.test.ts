import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { EntityExistsError } from '../../src/modeling/index.js';
import { isLong, sampled, costly } from '../support/run-length.js';
import { crashEverywhere, type Doomed, type Moment } from './support/crash-points.js';
import {
  allRows,
  assertInStep,
  drain,
  driftsOf,
  employee,
  openEmployees,
  type Employees,
  type EmployeeTables,
} from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';

// Whichever request a process is killed at, the worker or `rebuild` completes the change.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

interface World {
  readonly places: EmployeeTables;
  readonly employees: Employees;
}

/** Dying before a request has the same effect as dying after the one before it. */
const moments: readonly Moment[] = isLong ? ['before', 'after'] : ['after'];
const indexNames = ['email', 'lastName', 'company', 'town', 'firstName'] as const;
const any = { ifMatch: 'any' };
const at = (id: number) => ({ department: 'Sales', id });

async function newWorld(count: number): Promise<World> {
  const table = (await tables.newTable()).gateway;
  const town = (await tables.newTable()).gateway;
  const firstName = (await tables.newTable()).gateway;
  const places = { table, town, firstName };
  const employees = openEmployees(places);
  for (let id = 0; id < count; id++) {
    await employees.insert(employee(id, { town: id % 2 === 0 ? 'Redmond' : undefined }));
  }
  await drain(places, employees);
  return { places, employees };
}

/** The employees as opened by a process that is killed. */
function doomedEmployees({ places }: World, doomed: Doomed): Employees {
  return openEmployees({
    table: doomed.wrap(places.table),
    town: doomed.wrap(places.town),
    firstName: doomed.wrap(places.firstName),
  });
}

function recoverByWorker({ places }: World, doomed: Doomed): Promise<void> {
  const wrapped = {
    table: doomed.wrap(places.table),
    town: doomed.wrap(places.town),
    firstName: doomed.wrap(places.firstName),
  };
  return drain(wrapped, openEmployees(wrapped));
}

async function removeIndexRows({ places }: World): Promise<void> {
  for (const table of [places.table, places.town, places.firstName]) {
    for (const row of await allRows(table)) {
      if (row.properties['EntityType']?.value === 'Employee') continue;
      await table.write({ kind: 'delete', key: row, etag: '*' });
    }
  }
}

const moved = {
  email: 'moved@x',
  lastName: 'Smith',
  firstName: 'June',
  town: 'Kirkland',
};

describe('a writer that dies', () => {
  it('leaves an insert done or not done, with every index', costly(), async () => {
    const requests = await crashEverywhere<World>({
      prepare: () => newWorld(2),
      run: async (world, doomed) => {
        try {
          await doomedEmployees(world, doomed).insert(employee(9, moved));
        } catch (error) {
          // The entity of its own first attempt, whose response was lost.
          if (!(error instanceof EntityExistsError)) throw error;
        }
      },
      recover: recoverByWorker,
      check: async ({ employees }) => {
        await assertInStep(employees);
        const found = await employees.by.town.entity({ ...at(9), ...moved });
        assert.equal(found === undefined, (await employees.get(at(9))) === undefined);
      },
    });
    assert.deepEqual(requests, ['get', 'transact']);
  });

  it('leaves a change of every value done or not done', costly(), async () => {
    const requests = await crashEverywhere<World>({
      prepare: () => newWorld(9),
      run: (world, doomed) => doomedEmployees(world, doomed).merge(at(4), moved, any),
      recover: recoverByWorker,
      crashRecovery: true,
      moments,
      check: async ({ employees }) => {
        await assertInStep(employees);
        const found = await employees.get(at(4));
        assert.ok(found?.email === 'moved@x' || found?.email === 'mail4@contoso.com');
      },
    });
    // The entity, its copy, the two lists that it leaves, each of one chunk, and the list that it
    // enters.
    assert.deepEqual(requests, ['get', 'get', 'get', 'get', 'get', 'transact']);
  });

  it('leaves a delete done or not done', costly(), async () => {
    await crashEverywhere<World>({
      prepare: () => newWorld(3),
      run: (world, doomed) => doomedEmployees(world, doomed).deleteIfExists(at(2)),
      recover: recoverByWorker,
      check: ({ employees }) => assertInStep(employees),
    });
  });
});

describe('a worker that dies', () => {
  it('leaves an intent that the next one brings to its end', costly(), async () => {
    await crashEverywhere<World>({
      prepare: async () => {
        const world = await newWorld(3);
        await world.employees.merge(at(0), moved, any);
        await world.employees.delete(at(2), any);
        return world;
      },
      run: recoverByWorker,
      recover: recoverByWorker,
      check: async ({ employees, places }) => {
        await assertInStep(employees);
        const rows = await allRows(places.table);
        assert.ok(!rows.some(({ rowKey }) => rowKey.startsWith('~outbox')));
      },
    });
  });
});

describe('a repair that dies', () => {
  it('is finished by the next rebuild', costly(), async () => {
    await crashEverywhere<World>({
      prepare: async () => {
        const world = await newWorld(2);
        await removeIndexRows(world);
        return world;
      },
      run: async (world, doomed) => {
        for await (const page of doomedEmployees(world, doomed).rebuild({ concurrency: 1 })) {
          assert.deepEqual(page.drifts, []);
        }
      },
      recover: async ({ employees }) => {
        assert.deepEqual(await driftsOf(employees.rebuild()), []);
      },
      check: ({ employees }) => assertInStep(employees),
      moments,
    });
  });

  it('of a new index is finished by the next backfill', costly(), async () => {
    for (const index of sampled(indexNames)) {
      await crashEverywhere<World>({
        prepare: async () => {
          const world = await newWorld(2);
          await removeIndexRows(world);
          return world;
        },
        run: async (world, doomed) => {
          const pages = doomedEmployees(world, doomed).backfill(index, { pageRows: 1 });
          for await (const page of pages) assert.deepEqual(page.drifts, []);
        },
        recover: async ({ employees }) => {
          for await (const page of employees.backfill(index)) assert.deepEqual(page.drifts, []);
        },
        check: async ({ employees }) => {
          assert.deepEqual(await driftsOf(employees.verify({ indexes: [index] })), []);
        },
        moments,
      });
    }
  });
});
