import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { byLength, costly } from '../support/run-length.js';
import { plain } from '../../src/modeling/index.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { SimRandom } from '../support/sim-random.js';
import { handleIntent, settleIntent, waitingIntents } from './support/index-outbox.js';
import {
  assertInStep,
  drain,
  employee,
  openEmployees,
  type Employees,
  type EmployeeTables,
  type NewEmployee,
} from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';

// Random operations, with workers that handle intents in any order and twice, compared with a
// model. INDEX_OPERATIONS sets their number; INDEX_SEED repeats a run.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const operations = numberSetting('INDEX_OPERATIONS', byLength({ short: 150, long: 10_000 }));
const seed = seedSetting('INDEX_SEED');
const any = { ifMatch: 'any' };

type Model = Map<string, NewEmployee>;

interface Simulation {
  readonly random: SimRandom;
  readonly places: EmployeeTables;
  readonly employees: Employees;
  readonly model: Model;
}

const departments = ['Sales', 'Marketing', 'R and D'];
const lastNames = ['Jones', 'Smith', "O'Neill", 'Nuñez', ''];
const firstNames = ['Jun', 'June', 'Ken/K'];
const towns = ['Redmond', 'Kirkland', '', undefined];

function randomEmployee(random: SimRandom): NewEmployee {
  const department = random.pick(departments);
  const id = random.int(40);
  return employee(id, {
    department,
    firstName: random.pick(firstNames),
    lastName: random.pick(lastNames),
    // Unique within a department, which the index by email requires.
    email: `${'abc'[random.int(3)]}${id}@contoso.com`,
    town: random.pick(towns),
  });
}

function nameOf({ department, id }: Pick<NewEmployee, 'department' | 'id'>): string {
  return `${department}/${id}`;
}

function withoutAbsent({ town, ...rest }: NewEmployee): NewEmployee {
  return town === undefined ? rest : { ...rest, town };
}

async function changeOne({ random, employees, model }: Simulation): Promise<void> {
  const given = randomEmployee(random);
  const { department, id } = given;
  const before = model.get(nameOf(given));
  switch (random.weighted({ insert: 4, replace: 3, merge: 5, upsert: 2, update: 2, remove: 3 })) {
    case 'insert':
      if (before !== undefined) return;
      await employees.insert(given);
      break;
    case 'replace': {
      if (before === undefined) return;
      await employees.replace(given, any);
      break;
    }
    case 'merge': {
      if (before === undefined) return;
      const { email, lastName } = given;
      await employees.merge({ department, id }, { email, lastName }, any);
      model.set(nameOf(given), { ...before, email, lastName });
      return;
    }
    case 'upsert':
      await employees.upsertReplace(given);
      break;
    case 'update': {
      if (before === undefined) return;
      await employees.update({ department, id }, (current) => ({ ...current, town: given.town }));
      model.set(nameOf(given), withoutAbsent({ ...before, town: given.town }));
      return;
    }
    case 'remove': {
      const isGone = await employees.deleteIfExists({ department, id });
      assert.equal(isGone, before !== undefined);
      model.delete(nameOf(given));
      return;
    }
    default:
      return;
  }
  model.set(nameOf(given), withoutAbsent(given));
}

/** Handles some intents; some of these stay, as if the worker had died after its last write. */
async function workSome({ random, places, employees }: Simulation): Promise<void> {
  const waiting = await waitingIntents(places.table);
  const some = waiting.filter(() => random.chance(0.5)).toReversed();
  for (const intent of some) {
    if (random.chance(0.2)) await handleIntent(employees.handler, intent);
    else await settleIntent(places.table, employees.handler, intent);
  }
}

async function checkLookUps({ random, employees, model }: Simulation): Promise<void> {
  const department = random.pick(departments);
  const lastName = random.pick(lastNames);
  const found: NewEmployee[] = [];
  for await (const each of employees.by.lastName.entities({ department, lastName })) {
    found.push(plain(each));
  }
  const expected = [...model.values()]
    .filter((each) => each.department === department && each.lastName === lastName)
    .sort((left, right) => left.id - right.id);
  assert.deepEqual(found, expected);
  const [someone] = expected;
  if (someone === undefined) return;
  const copy = await employees.by.email.get({ department, email: someone.email });
  assert.deepEqual(copy === undefined ? undefined : plain(copy), someone);
}

describe('indexes of every kind', () => {
  it(
    `say what the entities do after ${operations} operations (INDEX_SEED=${seed})`,
    costly(),
    async () => {
      const random = new SimRandom(seed);
      const places = {
        table: (await tables.newTable()).gateway,
        town: (await tables.newTable()).gateway,
        firstName: (await tables.newTable()).gateway,
      };
      const employees = openEmployees(places);
      const simulation: Simulation = { random, places, employees, model: new Map() };
      for (let step = 0; step < operations; step++) {
        await changeOne(simulation);
        if (random.chance(0.05)) await workSome(simulation);
        if (random.chance(0.05)) await checkLookUps(simulation);
      }
      await drain(places, employees);
      await assertInStep(employees);
      const stored = await employees.scanTable().toArray({ max: 1000 });
      assert.equal(stored.length, simulation.model.size);
      for (const each of stored) assert.deepEqual(plain(each), simulation.model.get(nameOf(each)));
      const redmond = employees.by.town.query({ partition: { town: 'Redmond' } });
      assert.equal(
        (await redmond.toArray({ max: 1000 })).length,
        stored.filter(({ town }) => town === 'Redmond').length,
      );
    },
  );
});
