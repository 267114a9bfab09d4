import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  codecOf,
  defineEntity,
  DefinitionError,
  entitiesOf,
  int32,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { copies, openModel, type CopiesOptions } from '../../src/modeling/model/index.js';
import { fillRow } from './support/full-rows.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

// Copies that a table keeps by itself: of the lead of each team.

const Person = defineEntity({
  type: 'Person',
  properties: { department: string(), id: int32(), name: string(), room: string().default('') },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`person_${p.id.padded(4)}`,
});
/** In the partition of its people. */
const Team = defineEntity({
  type: 'Team',
  properties: {
    department: string(),
    team: string(),
    leadId: int32().optional(),
    leadName: string().optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`team_${p.team}`,
});
/** In a partition of its own. */
const Project = defineEntity({
  type: 'Project',
  properties: {
    code: string(),
    department: string().optional(),
    leadId: int32().optional(),
    leadName: string().default('nobody'),
  },
  partitionKey: (p) => key`project_${p.code}`,
  rowKey: () => key`project`,
});
const any = { ifMatch: 'any' };
const jo = { department: 'Sales', id: 1 };
const al = { department: 'Sales', id: 2 };
const red = { department: 'Sales', team: 'red' };
const apollo = { code: 'apollo' };

const newTable = (table = 'staff') => new MemoryTable(new MemoryRows(), { table });

type TeamCopies = CopiesOptions<typeof Person, typeof Team>;
const teamLeads = (
  targetsOf: TeamCopies['targetsOf'],
  tables: Pick<TeamCopies, 'sourceTable' | 'targetTable'> = {},
) =>
  copies({
    source: Person,
    target: Team,
    sourceOf: ({ department, leadId: id }) => (id === undefined ? undefined : { department, id }),
    targetsOf,
    copy: (lead) => ({ leadName: lead?.name }),
    ...tables,
  });

const projectLeads = copies({
  source: Person,
  target: Project,
  sourceOf: ({ department, leadId: id }) =>
    department === undefined || id === undefined ? undefined : { department, id },
  targetsOf: () => [apollo, { code: 'gemini' }],
  copy: (lead) => ({ leadName: lead?.name ?? 'nobody' }),
});
const teams = ({ department }: { readonly department: string }) =>
  ['red', 'blue'].map((team) => ({ department, team }));

async function driftsOf(model: { verify(): AsyncIterable<unknown> }): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const drift of model.verify()) found.push(drift);
  return found;
}

describe('copies of a source in their partition', () => {
  async function newStaff() {
    const table = newTable();
    const model = openModel({
      table,
      entities: { people: Person, teams: Team },
      keeps: [teamLeads(teams)],
    });
    await model.entities.people.insert({ ...jo, name: 'Jo' });
    await model.entities.people.insert({ ...al, name: 'Al' });
    await model.entities.teams.insert({ ...red, leadId: 1 });
    const leadOf = async (team: string) =>
      (await model.entities.teams.get({ department: 'Sales', team }))?.leadName;
    return { table, model, ...model.entities, leadOf };
  }

  it('are cleared with its deletion, in one transaction', async () => {
    const { table, people, leadOf, model } = await newStaff();
    assert.equal(await leadOf('red'), 'Jo');
    await people.delete(jo, any);
    assert.equal(await leadOf('red'), undefined);
    assert.ok(!table.rows.all.some(({ rowKey }) => rowKey.startsWith('~')), 'no message');
    assert.deepEqual(await driftsOf(model), []);
    await people.insert({ ...jo, name: 'Jo again' });
    assert.equal(await leadOf('red'), 'Jo again');
  });

  it('are cleared as well when somebody deletes the source past the table', async () => {
    const { table, model, leadOf } = await newStaff();
    await entitiesOf(Person, table).delete(jo, any);
    const drift = { of: 'Team', key: red, expected: { leadName: undefined } };
    assert.deepEqual(await driftsOf(model), [{ derived: drift }]);
    for await (const { repaired } of model.rebuild()) assert.equal(repaired, 1);
    assert.equal(await leadOf('red'), undefined);
  });

  it('follow the reference, and are absent when it is absent or names no source', async () => {
    const { teams, leadOf, people } = await newStaff();
    for (const [leadId, name] of [
      [2, 'Al'],
      [undefined, undefined],
      [1, 'Jo'],
      [9, undefined],
    ] as const) {
      await teams.update(red, (team) => ({ ...team, leadId, leadName: 'whatever' }));
      assert.equal(await leadOf('red'), name);
    }
    await people.insert({ department: 'Sales', id: 9, name: 'New' });
    assert.equal(await leadOf('red'), 'New');
  });

  it('change in targets that name the source, and in no others', async () => {
    const { teams, people, leadOf } = await newStaff();
    await teams.insert({ department: 'Sales', team: 'blue', leadId: 2 });
    await people.merge(al, { name: 'Al Smith' }, any);
    assert.deepEqual([await leadOf('red'), await leadOf('blue')], ['Jo', 'Al Smith']);
  });

  it('are right after a transaction that deletes one lead and names another', async () => {
    const { model, leadOf } = await newStaff();
    await model
      .transaction()
      .delete(Person, jo, any)
      .update(Team, red, (team) => ({ ...team, leadId: 2 }))
      .run();
    assert.equal(await leadOf('red'), 'Al');
    await model.transaction().delete(Person, al, any).delete(Team, red, any).run();
    assert.deepEqual(await driftsOf(model), []);
  });

  it('let a row be written that has them, and no room for what it lacks', async () => {
    const { table, model, leadOf } = await newStaff();
    const row = codecOf(Team).key(red);
    await fillRow(table, row, 'leadId', 'leadName');
    const properties = { other1: { type: 'String', value: 'y' } } as const;
    await model.table.write({ kind: 'merge', row: { ...row, properties }, etag: '*' });
    assert.deepEqual((await table.get(row))?.properties['other1'], properties.other1);
    assert.equal(await leadOf('red'), 'Jo');
  });

  it('refuse a change of their source for which a row has no room, and change nothing', async () => {
    const { table, people } = await newStaff();
    await fillRow(table, codecOf(Team).key(red), 'leadId', 'leadName');
    const before = table.rows.all;
    const renamed = people.merge(jo, { name: 'Joanna' }, any);
    await assert.rejects(renamed, /Team: \('Sales', '.+'\) has 253 properties, more than 252/);
    assert.deepEqual(table.rows.all, before);
  });

  it('are compared and mended beside rows that cannot be read or have no room, which are told', async () => {
    const { table, model, people, teams, leadOf } = await newStaff();
    await people.insert({ department: 'Sales', id: 3, name: 'Kim' });
    for (const [team, leadId] of [
      ['blue', 2],
      ['grey', 3],
      ['violet', 1],
    ] as const) {
      await teams.insert({ department: 'Sales', team, leadId });
    }
    const wrong = (rowKey: string, name: string) => {
      const properties = { [name]: { type: 'Guid', value: `${'0'.repeat(8)}-0000` } } as const;
      const row = { partitionKey: 'Sales', rowKey, properties };
      return table.write({ kind: 'merge', row, etag: '*' });
    };
    await wrong('team_red', 'leadId');
    await wrong('person_0003', 'name');
    await fillRow(table, codecOf(Team).key({ ...red, team: 'blue' }), 'leadId', 'leadName');
    const past = entitiesOf(Person, table);
    for (const at of [jo, al]) await past.merge(at, { name: 'New' }, any);
    const told = async (dryRun: boolean): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const { drifts } of model.rebuild({ dryRun })) {
        for (const drift of drifts) {
          assert.ok('derived' in drift);
          const { derived } = drift;
          if ('unreadable' in derived) {
            assert.equal(derived.unreadable.error.name, 'DecodeError');
            found.push(`${derived.unreadable.rowKey} cannot be read`);
          } else {
            const { team } = derived.key as Partial<typeof red>;
            found.push(`${team} differs${derived.error === undefined ? '' : ' and has no room'}`);
          }
        }
      }
      return found;
    };
    const unreadable = ['team_grey cannot be read', 'team_red cannot be read'];
    assert.deepEqual(await told(true), ['blue differs', ...unreadable, 'violet differs']);
    assert.deepEqual(await told(false), ['blue differs and has no room', ...unreadable]);
    assert.equal(await leadOf('violet'), 'New');
  });

  it('take no read and no write while the copied properties stay', async () => {
    const { table, people } = await newStaff();
    table.requests = 0;
    await people.merge(jo, { room: '7' }, any);
    assert.equal(table.requests, 2);
  });

  it('are current when the lead is renamed just before the reference is stored', async () => {
    const { table, people, leadOf } = await newStaff();
    await people.merge(al, { name: 'Jo' }, any);
    let isFirst = true;
    const racing: TableGateway = {
      table: 'staff',
      get: (...args) => table.get(...args),
      page: (query) => table.page(query),
      write: async (write) => {
        await raced();
        return table.write(write);
      },
      transact: async (writes) => {
        await raced();
        return table.transact(writes);
      },
    };
    const raced = async () => {
      if (!isFirst) return;
      isFirst = false;
      await people.merge(al, { name: 'Al Smith' }, any);
    };
    const model = openModel({
      table: racing,
      entities: { people: Person, teams: Team },
      keeps: [teamLeads(teams)],
    });
    await model.entities.teams.update(red, (team) => ({ ...team, leadId: 2 }));
    assert.equal(await leadOf('red'), 'Al Smith');
    assert.deepEqual(await driftsOf(model), []);
  });
});

describe('copies that a query finds', () => {
  it('follow by a message, in the partition of the source as well', async () => {
    const table = newTable();
    const stored = entitiesOf(Team, table);
    const model = openModel({
      table,
      entities: { people: Person, teams: Team },
      keeps: [
        teamLeads(({ department, id }) =>
          stored.query({ partition: { department }, where: (p) => p.leadId.eq(id) }),
        ),
      ],
    });
    await model.entities.people.insert({ ...jo, name: 'Jo' });
    await model.entities.teams.insert({ ...red, leadId: 1 });
    assert.equal((await stored.get(red))?.leadName, 'Jo');
    await model.entities.people.merge(jo, { name: 'Jo Smith' }, any);
    assert.equal((await stored.get(red))?.leadName, 'Jo');
    await model.drain();
    assert.equal((await stored.get(red))?.leadName, 'Jo Smith');
    await model.entities.people.delete(jo, any);
    await model.drain();
    assert.equal((await stored.get(red))?.leadName, undefined);
    assert.deepEqual(await driftsOf(model), []);
  });
});

describe('copies of a source in another partition', () => {
  it('are changed and cleared by messages, wherever the reference leads', async () => {
    const model = openModel({
      table: newTable(),
      entities: { people: Person, projects: Project },
      keeps: [projectLeads],
    });
    const { people, projects } = model.entities;
    const leadName = async () => (await projects.get(apollo))?.leadName;
    await people.insert({ ...jo, name: 'Jo' });
    await people.insert({ ...al, name: 'Al' });
    await projects.insert({ ...apollo, department: 'Sales', leadId: 1 });
    await model.drain();
    assert.equal(await leadName(), 'Jo');
    await projects.update(apollo, (project) => ({ ...project, leadId: 2 }));
    await model.drain();
    assert.equal(await leadName(), 'Al');
    await people.delete(al, any);
    assert.equal((await driftsOf(model)).length, 1);
    await model.drain();
    assert.equal(await leadName(), 'nobody');
    assert.deepEqual(await driftsOf(model), []);
  });
});

describe('copies of a source in another table', () => {
  it('follow the source and the reference, each kept by the model of its table', async () => {
    const [staff, units] = [newTable('people'), newTable('teams')];
    const targets = openModel({
      table: units,
      entities: { teams: Team },
      keeps: [teamLeads(teams, { sourceTable: staff })],
    });
    const sources = openModel({
      table: staff,
      entities: { people: Person },
      keeps: [teamLeads(teams, { targetTable: targets.table })],
    });
    const inStep = async (name: string | undefined) => {
      await sources.drain();
      await targets.drain();
      assert.equal((await targets.entities.teams.get(red))?.leadName, name);
      assert.deepEqual([await driftsOf(sources), await driftsOf(targets)], [[], []]);
    };
    await sources.entities.people.insert({ ...jo, name: 'Jo' });
    await targets.entities.teams.insert({ ...red, leadId: 1 });
    await inStep('Jo');
    await sources.entities.people.merge(jo, { name: 'Jo Smith' }, any);
    assert.equal((await driftsOf(sources)).length, 1);
    await inStep('Jo Smith');
    await targets.entities.teams.update(red, (team) => ({ ...team, leadId: undefined }));
    await inStep(undefined);
    await targets.entities.teams.update(red, (team) => ({ ...team, leadId: 1 }));
    await inStep('Jo Smith');
    await sources.entities.people.delete(jo, any);
    await inStep(undefined);
  });

  it('are refused where the declaring table would have neither side', () => {
    const [sourceTable, targetTable] = [newTable('people'), newTable('teams')];
    assert.throws(() => teamLeads(teams, { sourceTable, targetTable }), DefinitionError);
  });
});
