import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../../src/base/clock.js';
import {
  bulk,
  codecOf,
  ConditionFailedError,
  copiesOf,
  dataSeriesOf,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  Instant,
  int32,
  key,
  logTailOf,
  openSpreadEntities,
  string,
  upgradeRows,
  writesOf,
  type ReadOf,
  type Stored,
  type TableGateway,
} from '../../../src/modeling/index.js';
import { oneToManyOf, oneToOneOf } from '../../../src/modeling/patterns/relations/index.js';
import {
  changeFeedOf,
  consumerGroupOf,
  payloadOf,
  RowsChangedMessage,
  type FeedEvent,
} from '../../../src/modeling/patterns/change-feed/index.js';
import { keyRing, withEncryption } from '../../../src/modeling/encryption/index.js';
import { contextReference, contextsOf } from '../../../src/modeling/patterns/contexts/index.js';
import {
  moveStep,
  rowIn,
} from '../../../src/modeling/patterns/eventually-consistent-transactions/index.js';
import {
  deleteWhere,
  timeBucketsOf,
} from '../../../src/modeling/patterns/high-volume-delete/index.js';
import type { ListBlobs } from '../../../src/modeling/patterns/indexes/index.js';
import { withLargeValues } from '../../../src/modeling/patterns/large-entities/index.js';
import {
  eventViewOf,
  partitionViewOf,
  shardedCounterOf,
} from '../../../src/modeling/patterns/materialised-views/index.js';
import {
  relocated,
  reKeyingOf,
  type Phase,
} from '../../../src/modeling/patterns/re-keying/index.js';
import { rowLeasesOf } from '../../../src/modeling/patterns/row-leases/index.js';
import {
  hashRouting,
  shardMapOf,
  type ShardMap,
} from '../../../src/modeling/patterns/shard-map/index.js';
import {
  defineVertical,
  verticalEntitiesOf,
} from '../../../src/modeling/patterns/vertical-split/index.js';
import {
  defineWideEntity,
  wideEntitiesOf,
} from '../../../src/modeling/patterns/wide-entities/index.js';
import { allRows } from '../../../src/modeling/table/all-rows.js';
import { retryConflicts } from '../../../src/modeling/table/contention.js';
import { reasonOf } from '../../../src/modeling/table/failure-of-one.js';
import { byLength, costly } from '../../support/run-length.js';
import { numberSetting, seedSetting } from '../../support/sim-settings.js';
import { SimRandom } from '../../support/sim-random.js';
import { ChangingShards } from '../support/changing-shards.js';
import { crashEverywhere, type Doomed } from '../support/crash-points.js';
import { CountingKey } from '../support/encryption-keys.js';
import { impatientTimers } from '../support/impatient-timers.js';
import { MemoryLists } from '../support/memory-lists.js';
import { MemoryRows, MemoryTable } from '../support/memory-table.js';
import { startTables } from '../support/observed-tables.js';
import { oneToManyOptions } from '../support/staff-relation.js';
import {
  Badge,
  Day,
  StaffDepartment,
  StaffEmployee,
  employeeOf,
  Event,
  openStaff,
  promised,
  storeOldEmployees,
  Summary,
  Tally,
  UpgradedEmployee,
  Visit,
  type Promised,
  type ToldEmployee,
} from '../support/staff.js';

const wrapper = new CountingKey('matrix');
const long = 'x'.repeat(600);
const at = (id: number) => ({ department: 'Sales', id });
const any = { ifMatch: 'any' } as const;
/** Everything was written before. */
const later = { clock: manualClock((Date.now() + 86_400_000) * 1000) };

/** The tables of a world, by name: whatever a process sends goes to one of them. */
const tableNames = ['main', 'more', 'archive', 'control', 'mails', 'archiveMails'] as const;
const listNames = ['names', 'archiveNames'] as const;
type Raw = Readonly<Record<(typeof tableNames)[number], TableGateway>> &
  Readonly<Record<(typeof listNames)[number], ListBlobs>> & {
    /** The same for other processes, which are not killed; absent: nobody is. */
    readonly ofOthers?: Raw;
  };

function mapOf({ main, more, control }: Raw): ShardMap {
  return shardMapOf({
    name: 'staff',
    control,
    shards: { main, more },
    refreshMs: 0,
    settleMs: 0,
    // Longer than a step of a claim takes: otherwise claims over a slow server end each other.
    takeOverMs: 200,
    timers: impatientTimers,
  });
}

function overShards(raw: Raw): TableGateway {
  return mapOf(raw).table;
}

function isNote(_partition: string, row: string, property: string): boolean {
  return property === 'note' && (row.startsWith('empid_') || row.startsWith('contract_'));
}

/**
 * What is beneath the table. Of employees and contracts, the note is encrypted by their keys, or
 * large.
 */
const beneath = {
  nothing: ({ main }: Raw) => main,
  encryption: ({ main }: Raw) =>
    withEncryption(main, {
      keys: keyRing(wrapper.kek),
      resolver: isNote,
    }),
  'large values': ({ main }: Raw) =>
    withLargeValues(main, {
      stringUnitsInline: 100,
      compression: 'identity',
      properties: ['note'],
    }),
  'a shard map': overShards,
  'a shard map that changes': (raw: Raw) =>
    new ChangingShards(mapOf(raw), mapOf(raw.ofOthers ?? raw)),
  'encrypted large values of shards': (raw: Raw) =>
    withEncryption(
      withLargeValues(overShards(raw), {
        compression: 'identity',
        binaryBytesInline: 100,
        properties: ['note'],
      }),
      { keys: keyRing(wrapper.kek), resolver: isNote },
    ),
} satisfies Readonly<Record<string, (raw: Raw) => TableGateway>>;

export type Beneath = keyof typeof beneath;

function isEncrypted(under: Beneath): boolean {
  return under === 'encryption' || under === 'encrypted large values of shards';
}

function isSharded(under: Beneath): boolean {
  return (
    under === 'a shard map' ||
    under === 'a shard map that changes' ||
    under === 'encrypted large values of shards'
  );
}

/**
 * Rows move as they are stored: the archive has what is beneath the table as well, on one shard.
 */
function beneathArchive(raw: Raw, under: Beneath): TableGateway {
  const { archive: main } = raw;
  if (under === 'a shard map' || under === 'a shard map that changes') return main;
  return beneath[under === 'encrypted large values of shards' ? 'encryption' : under]({
    ...raw,
    main,
  });
}

interface Case {
  readonly what: Promised;
  readonly under: Beneath;
  /** Whether older programs have stored some of the employees. */
  readonly isUpgraded?: boolean | undefined;
  /** Whether no entity changes: all writes are steps of a move. */
  readonly isMove?: boolean | undefined;
}

/** An entity of two rows, of which the table keeps nothing. */
const Review = defineWideEntity({
  type: 'Review',
  keys: { department: string(), id: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`review_${p.id.padded(4)}`,
  groups: { '01': { plan: string() }, '02': { result: string() } },
});

/**
 * An entity of two tables: the leader is with the employees, the other half is beside their
 * archive.
 */
const Contract = defineVertical({
  type: 'Contract',
  keys: { department: string(), id: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`contract_${p.id.padded(4)}`,
  groups: { terms: { title: string() }, pay: { level: int32(), note: string().optional() } },
  leader: 'terms',
});

/** A process with the models of a case. */
function open(raw: Raw, { what, under, isUpgraded = false }: Case) {
  const employee = isUpgraded ? UpgradedEmployee : StaffEmployee;
  const { names, archiveNames } = raw;
  const [mails, archiveMails] = [raw.mails, raw.archiveMails].map((each) =>
    isEncrypted(under) ? withEncryption(each, { keys: keyRing(wrapper.kek) }) : each,
  ) as [TableGateway, TableGateway];
  const told: ToldEmployee[] = [];
  const model = openStaff({ table: beneath[under](raw), mails, names, told }, what, employee);
  const table = beneathArchive(raw, under);
  const archive = openStaff(
    { table, mails: archiveMails, names: archiveNames, told },
    what,
    employee,
  );
  const relation = oneToManyOf({
    ...oneToManyOptions,
    table: model.table,
    timers: impatientTimers,
  });
  return {
    model,
    archive,
    told,
    relation,
    employees: entitiesOf(employee, model.table, { timers: impatientTimers }),
    leases: rowLeasesOf(StaffEmployee, model.table, { holder: 'test', durationMs: 100 }),
    view: partitionViewOf({
      source: StaffEmployee,
      view: Summary,
      table: model.table,
      keyOf: ({ department }) => ({ department }),
      measures: { people: () => 1 },
      timers: impatientTimers,
    }),
    series: dataSeriesOf(Day, model.table, { slots: 24, value: int32() }),
    wide: wideEntitiesOf(Review, model.table),
    contracts: verticalEntitiesOf(Contract, { terms: model.table, pay: archive.table }, later),
    events: eventViewOf(Summary, model.table, { timers: impatientTimers }),
    badged: oneToOneOf({
      main: employee,
      mainTable: model.table,
      detail: Badge,
      detailTable: model.table,
      detailOf: ({ department, id }) => ({ department, id }),
      mainOf: ({ department, id }) => ({ department, id }),
    }),
    tallies: shardedCounterOf(Tally, model.table, {
      shard: 'shard',
      shards: 2,
      measures: ['people'],
      timers: impatientTimers,
    }),
    tail: logTailOf(Event, model.table, { time: 'at' }),
    bucket: entitiesOf(StaffEmployee, bucketOver(model.table), { timers: impatientTimers }),
    contexts: contextsOf(
      { staff: [[StaffEmployee, model.table]], access: [[Badge, archive.table]] },
      [
        contextReference(
          'holder',
          Badge,
          StaffEmployee,
          ({ department, id }) => ({ department, id }),
          (badge) => archive.entities.badges.delete(badge),
        ),
      ],
    ),
    titles: copiesOf({
      source: StaffDepartment,
      sourceTable: model.table,
      target: employee,
      targetTable: model.table,
      sourceOf: ({ department, id }) => (id === 3 ? undefined : { department }),
      targetsOf: ({ department }) => [1, 2].map((id) => ({ department, id })),
      copy: (department) => ({ lastName: department?.title ?? '' }),
      timers: impatientTimers,
    }),
    move: reKeyingOf({
      name: 'archive',
      ...relocated(StaffEmployee, model.table, archive.table),
      control: raw.control,
      refreshMs: 0,
      settleMs: 0,
      timers: impatientTimers,
    }),
    step: moveStep({
      from: rowIn(model.table, (key: { department: string; id: number }) =>
        codecOf(StaffEmployee).key(key),
      ),
      to: rowIn(archive.table, (key: { department: string; id: number }) =>
        codecOf(StaffEmployee).key(key),
      ),
    }),
  };
}

/** The table as the one of a month. */
function bucketOver(table: TableGateway): TableGateway {
  const time = Instant.parse('2014-07-31');
  const asMonth = (name: string): TableGateway => ({
    table: name,
    get: (key, select) => table.get(key, select),
    write: (write) => table.write(write),
    transact: (writes) => table.transact(writes),
    page: (query) => table.page(query),
  });
  const refuse = () => Promise.reject(new Error('the table is there'));
  const account = { create: refuse, drop: refuse, names: refuse };
  const set = { prefix: 'staff', period: 'month' } as const;
  return timeBucketsOf({ set, tables: account, open: asMonth }).at(time);
}

type Process = ReturnType<typeof open>;

interface Pattern {
  /** Whether older programs have stored some of the employees. */
  readonly isUpgraded?: boolean;
  /** Whether no entity changes: all writes are steps of a move. */
  readonly isMove?: boolean;
  readonly run: (process: Process) => Promise<unknown>;
  /** Before the run that is killed. */
  readonly prepare?: (process: Process, raw: Raw) => Promise<unknown>;
  /** What the next process does after a kill. */
  readonly finish?: (process: Process) => Promise<unknown>;
}

const stepContext = () => ({
  intentId: 'matrix',
  attempt: 1,
  signal: new AbortController().signal,
});
const phases = ['dual-writing', 'verifying', 'reading-new', 'done'] as const;

const patterns: Readonly<Record<string, Pattern>> = {
  insert: { run: ({ employees }) => employees.insert(employeeOf(4, { note: long })) },
  replace: {
    run: ({ employees }) =>
      asRead(employees, at(1), (found) =>
        employees.replace({ ...found, lastName: 'Brown', email: 'new@x', salary: 11 }),
      ),
  },
  merge: { run: ({ employees }) => employees.merge(at(1), { lastName: 'Brown', salary: 3 }, any) },
  'upsert by replace': {
    run: ({ employees }) =>
      employees.upsertReplace(employeeOf(1, { lastName: 'Brown', note: long })),
  },
  'upsert by merge': {
    run: ({ employees }) => employees.upsertMerge(employeeOf(1, { email: 'new@x', salary: 12 })),
  },
  update: {
    run: ({ employees }) =>
      employees.update(at(1), (current) => ({ ...current, email: 'new@x', lastName: 'Brown' })),
  },
  delete: { run: ({ employees }) => employees.deleteIfExists(at(1)) },
  transaction: {
    run: ({ model }) =>
      model
        .transaction()
        .insert(StaffEmployee, employeeOf(4, { email: '2@x' }))
        .update(StaffEmployee, at(2), (current) => ({ ...current, email: 'other@x', salary: 1 }))
        .delete(StaffEmployee, at(3), any)
        .increment(StaffDepartment, { department: 'Sales' }, 'changes')
        .run(),
  },
  'a transaction that requires entities': {
    run: ({ model }) =>
      model
        .transaction()
        .insert(StaffEmployee, employeeOf(4))
        .require(StaffEmployee, at(1))
        .require(StaffDepartment, { department: 'Sales' })
        .run(),
  },
  'bulk work': {
    run: ({ model }) => {
      const make = writesOf(StaffEmployee, { stamp: false });
      const ids = [11, 12, 13, 14];
      return bulk(
        model.table,
        ids.map((id) => make.upsertReplace(employeeOf(id))),
      );
    },
  },
  'deletes by a condition': {
    run: ({ employees }) =>
      deleteWhere(employees, { partition: { department: 'Sales' }, where: (p) => p.salary.ge(0) }),
  },
  'deletes of a whole partition': {
    prepare: ({ employees }) => employees.insert(employeeOf(4)),
    run: ({ model }) => deleteWhere(model.table, { partitionKey: 'Sales' }),
  },
  'a child of a relation': {
    run: ({ relation }) => relation.add(employeeOf(4)),
  },
  'a child that is removed': {
    run: ({ relation, employees }) => asRead(employees, at(2), (found) => relation.remove(found)),
  },
  'a child that moves': {
    run: ({ relation, employees }) =>
      asRead(employees, at(2), (found) =>
        relation.move(found, employeeOf(2, { department: 'Support', note: long })),
      ),
    finish: async ({ relation }) => {
      const { stuck } = await relation.finishMoves({ department: 'Sales' });
      assert.deepEqual(stuck, []);
    },
  },
  'a data series': {
    run: ({ series }) => series.add({ ...at(1), day: 'monday' }, 3, 5),
  },
  'patterns that join a transaction': {
    run: ({ model, relation, series, view, wide }) =>
      model
        .transaction()
        .join(relation.adding(employeeOf(4)))
        .join(series.adding({ ...at(4), day: 'monday' }, 3, 5))
        .join(view.inserting(employeeOf(5)))
        .join(wide.inserting({ ...at(4), plan: 'a', result: 'b' }))
        .run(),
  },
  'a log tail': {
    run: async ({ tail }) => {
      await tail.append({ ...at(1), what: 'hired', at: Instant.parse('2014-07-31T10:00:00Z') });
      await tail.append({ ...at(2), what: 'hired' });
    },
  },
  'keys that are spread': {
    run: async ({ model }) => {
      const options = { bucket: 'bucket', buckets: 4, timers: impatientTimers } as const;
      const visits = await openSpreadEntities(Visit, model.table, options);
      for (const id of [1, 2]) await visits.insert({ ...at(id), what: 'a call' });
      await visits.update(at(1), (current) => ({ ...current, what: 'a tour' }));
      await visits.upsertReplace({ ...at(3), what: 'a tour' });
      await visits.deleteIfExists(at(2));
    },
  },
  'a sharded counter': {
    run: async ({ tallies }) => {
      for (const people of [1, 2, 3]) await tallies.add({ department: 'Sales' }, { people });
    },
  },
  'tables for periods': {
    run: async ({ bucket }) => {
      await bucket.insert(employeeOf(4, { note: long }));
      await bucket.update(at(2), (current) => ({ ...current, lastName: 'Brown' }));
      await bucket.deleteIfExists(at(3));
    },
  },
  'copies of another type': { run: copyTitles },
  'copies in an upgraded type': {
    isUpgraded: true,
    prepare: storeOldRows,
    run: copyTitles,
    finish: upgradeAll,
  },
  'an upgrade of all rows': {
    isUpgraded: true,
    prepare: storeOldRows,
    run: ({ employees }) => upgradeRows(employees, { timers: impatientTimers }),
    finish: upgradeAll,
  },
  'a lease': {
    run: async ({ leases }) => {
      const lease = await leases.acquire(at(1));
      await lease.update((current) => ({ ...current, lastName: 'Brown', email: 'new@x' }));
      await lease.release();
    },
  },
  'a transaction under a lease': {
    run: async ({ leases }) => {
      const lease = await leases.acquire(at(1));
      await lease.transact((writes) =>
        writes
          .upsertReplace(StaffEmployee, employeeOf(1, { lastName: 'Brown', note: long }))
          .delete(StaffEmployee, at(2), any),
      );
      await lease.release();
    },
  },
  'an update within an update': {
    run: async ({ model, employees }) => {
      const { departments } = model.entities;
      await employees.update(at(1), async (current, scope) => {
        const title = (department: ReadOf<typeof StaffDepartment>) => ({
          ...department,
          title: 'x',
        });
        await departments.update({ department: 'Sales' }, title, { within: scope });
        return { ...current, lastName: 'Brown', salary: 3 };
      });
    },
  },
  'an entity and its detail': {
    run: async ({ badged, employees }) => {
      await badged.insert(employeeOf(5, { note: long }), { department: 'Sales', id: 5 });
      await asRead(employees, at(2), (found) => badged.delete(found));
    },
    finish: async ({ badged }) => {
      await badged.removeOrphans({}, { graceMs: 0 });
    },
  },
  'wide entities': {
    run: async ({ wide }) => {
      const key = { ...at(1), plan: 'a', result: 'b' };
      await wide.insert(key);
      await wide.change(at(1), { plan: 'c', result: 'd' }, any);
      await wide.delete(at(1), any);
    },
  },
  'an entity of two tables': {
    run: async ({ contracts, employees }) => {
      const made = { ...at(1), title: 'a', level: 1, note: long };
      await contracts.insert(made);
      await contracts.merge(at(1), { title: 'b', level: 2 });
      await employees.merge(at(1), { salary: 3 }, any);
      await contracts.replace({ ...made, note: `${long} more` });
      await contracts.upsertReplace({ ...at(2), title: 'c', level: 3 });
      await contracts.delete(at(1));
    },
    finish: async ({ contracts }) => {
      await untilNone(async () => (await contracts.verify({ repair: true })).length);
    },
  },
  'an event of a view': {
    run: async ({ model, events }) => {
      const sales = { department: 'Sales' };
      const more = (current: { readonly people: number } | undefined) => ({
        ...sales,
        people: (current?.people ?? 0) + 1,
      });
      await events.apply('first', sales, more);
      const second = events.applying('second', sales, more);
      await model.transaction().join(second).insert(StaffEmployee, employeeOf(4)).run();
    },
  },
  'a view of the partition': {
    run: async ({ view, employees }) => {
      await view.insert(employeeOf(4));
      await asRead(employees, at(2), (found) =>
        view.replace(found, { ...found, lastName: 'Brown' }),
      );
    },
  },
  'types of two contexts': {
    run: async ({ contexts }) => {
      const employees = contexts.entities('staff', StaffEmployee);
      const badges = contexts.entities('access', Badge);
      await employees.insert(employeeOf(6, { note: long }));
      await badges.insert(at(6));
      await employees.deleteIfExists(at(1));
      await contexts.checkReferences({ graceMs: 0, repair: true });
    },
    finish: async ({ contexts }) => {
      await untilNone(async () => {
        return (await contexts.checkReferences({ graceMs: 0, repair: true, ...later })).orphans;
      });
    },
  },
  'a move by an intent': {
    run: ({ step }) => step.run(at(2), stepContext()),
    finish: ({ step }) => step.run(at(2), stepContext()),
  },
  ...Object.fromEntries(
    (['verifying', 'reading-new', 'done'] as const).map((phase) => [
      `re-keying, the step to ${phase}`,
      {
        isMove: true,
        prepare: ({ move }) => stepsTo(move, before[phase]),
        run: ({ move }) => stepsTo(move, phase),
        finish: ({ move }) => stepsTo(move, 'done'),
      } satisfies Pattern,
    ]),
  ),
  're-keying, the way back': {
    isMove: true,
    prepare: ({ move }) => stepsTo(move, 'verifying'),
    run: ({ move }) => move.rollBack(),
    finish: ({ move }) => move.rollBack(),
  },
  ...Object.fromEntries(
    phases.map((phase) => [
      `re-keying, ${phase}`,
      {
        prepare: ({ move }) => stepsTo(move, phase),
        run: async ({ move }) => {
          await move.entities.update(at(1), (current) => ({ ...current, lastName: 'Brown' }));
          await move.entities.upsertReplace(employeeOf(4));
          await move.entities.deleteIfExists(at(2));
        },
        finish: ({ move }) => stepsTo(move, 'done'),
      } satisfies Pattern,
    ]),
  ),
};

/**
 * A write of an employee under the ETag that it was read with, if it is there. Reads it again where
 * it has changed, as by a partition that was handed over to another shard.
 */
function asRead(
  employees: Process['employees'],
  key: ReturnType<typeof at>,
  write: (found: Stored<ReadOf<typeof StaffEmployee>>) => Promise<unknown>,
): Promise<unknown> {
  const attempt = async (): Promise<unknown> => {
    const found = await employees.get(key);
    return found === undefined ? undefined : write(found);
  };
  const hasChanged = (error: unknown) => reasonOf(error) instanceof ConditionFailedError;
  return retryConflicts(
    'a write of what was read',
    { timers: impatientTimers },
    attempt,
    hasChanged,
  );
}

/**
 * Repeats a repair: what changes meanwhile, as by a move to another shard, is left for the next.
 */
async function untilNone(repair: () => Promise<number>): Promise<void> {
  let left = 1;
  for (let attempt = 1; left > 0 && attempt <= 10; attempt += 1) left = await repair();
  assert.equal(left, 0);
}

/** The phase that leads to each other one. */
const before = {
  verifying: 'dual-writing',
  'reading-new': 'verifying',
  done: 'reading-new',
} as const satisfies Partial<Record<Phase, Phase>>;

function storeOldRows(_process: Process, { main, more, mails }: Raw): Promise<unknown> {
  return Promise.all([main, more, mails].map(storeOldEmployees));
}

async function upgradeAll({ employees }: Process): Promise<void> {
  const { failures } = await upgradeRows(employees, { timers: impatientTimers });
  assert.deepEqual(failures, []);
}

async function copyTitles({ titles, model }: Process): Promise<void> {
  const { departments } = model.entities;
  await departments.merge({ department: 'Sales' }, { title: 'Brown' }, any);
  await titles.refresh({ department: 'Sales' });
  await titles.update(at(2), (current) => ({ ...current, salary: 7 }));
}

const unknown: Pattern = { run: () => Promise.reject(new Error('no such pattern')) };

async function stepsTo(move: Process['move'], phase: Phase): Promise<void> {
  await move.start();
  if (phase === 'dual-writing') return;
  await move.backfill();
  await move.verify();
  if (phase === 'verifying') return;
  await move.cutOver();
  if (phase === 'done') await move.finish();
}

/** Where worlds are made, and made again as they were. */
interface Site {
  newRaw(): Promise<Raw>;
  /** What a world has at this point, as often as it is needed, where that costs little. */
  readonly remember?: (raw: Raw) => () => Raw;
}

const memory: Site = {
  newRaw: () =>
    Promise.resolve({
      ...record(tableNames, (table) => new MemoryTable(new MemoryRows(), { table })),
      ...record(listNames, () => new MemoryLists()),
    }),
  remember: (raw) => () => ({
    ...record(tableNames, (table) => {
      const { rows } = raw[table] as MemoryTable;
      return new MemoryTable(rows.copy(), { table });
    }),
    ...record(listNames, (name) => (raw[name] as MemoryLists).copy()),
  }),
};

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const server: Site = {
  newRaw: async () => {
    const made = await Promise.all(tableNames.map(() => tables.newTable()));
    const gateways = new Map(tableNames.map((name, index) => [name, made[index]?.gateway]));
    return {
      ...record(tableNames, (name) => gateways.get(name) ?? tables.gatewayOfNothing),
      ...record(listNames, () => new MemoryLists()),
    };
  },
};

function record<Name extends string, Value>(
  names: readonly Name[],
  make: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>;
}

async function staffed(site: Site, kind: Case): Promise<Raw> {
  const raw = await site.newRaw();
  if (isSharded(kind.under)) {
    await mapOf(raw).create(hashRouting(['main', 'more']));
  }
  const { model } = open(raw, kind);
  for (const department of ['Sales', 'Support']) {
    const first = model.transaction().insert(StaffDepartment, { department, title: department });
    for (const id of department === 'Sales' ? [1, 2, 3] : [1]) {
      first.insert(StaffEmployee, employeeOf(id, { department, email: `${id}@x`, note: long }));
    }
    await first.run();
  }
  const badges = model.transaction();
  for (const id of [1, 2, 3, 4]) badges.insert(Badge, { department: 'Sales', id });
  await badges.run();
  await model.drain();
  return raw;
}

/** The tables as a process sees them that is killed. */
function doomedRaw(raw: Raw, doomed: Doomed): Raw {
  return {
    ...record(tableNames, (name) => doomed.wrap(raw[name])),
    ...record(listNames, (name) => doomed.wrap(raw[name])),
    ofOthers: raw,
  };
}

async function assertInStep(process: Process, { what, isMove }: Case): Promise<void> {
  const { model, archive, told } = process;
  for (const each of [model, archive]) {
    const { unfinished } = await each.drain();
    assert.deepEqual(unfinished, []);
    for await (const drift of each.verify()) assert.deepEqual(drift, undefined);
    if (what === 'all' || what === 'change feed') await assertTold(each.table);
  }
  if (what !== 'all' && what !== 'announcements without moves') return;
  if (isMove === true) assert.deepEqual(told, []);
  else await assertAnnounced(process);
}

/**
 * Whoever has handled the announcements of both tables, those of the old one first, knows which
 * employees are there and what they are called.
 */
async function assertAnnounced({ model, archive, told, move, employees }: Process): Promise<void> {
  const named = ({ department, id, lastName }: ToldEmployee) =>
    [`${department} ${id}`, lastName] as const;
  const known = new Map(
    [1, 2, 3].map((id) => employeeOf(id)).map((employee) => named(employee)),
  ).set('Support 1', 'Jones');
  for (const [name, lastName] of told.map(named)) {
    if (lastName === undefined) known.delete(name);
    else known.set(name, lastName);
  }
  const { phase, version } = await move.state();
  const places = version === 0 ? [model, archive] : [phase === 'done' ? archive : model];
  const there = new Map<string, string | undefined>();
  for (const { table } of places) {
    for await (const row of allRows(table, {})) {
      if (employees.codec.matches(row)) there.set(...named(employees.codec.fromRow(row)));
    }
  }
  assert.deepEqual(known, there);
}

/** Nothing that is encrypted in an employee is in plain in another row. */
async function assertSealed(raw: Raw): Promise<void> {
  for (const name of tableNames) {
    for await (const { rowKey, properties } of allRows(raw[name], {})) {
      const { note } = properties;
      assert.ok(note === undefined || note.type === 'Binary', `${rowKey} of ${name}`);
    }
  }
}

/** Whoever has followed the feed of a partition knows which employees are there. */
async function assertTold(table: TableGateway): Promise<void> {
  const isEmployee = (rowKey: string) => rowKey.startsWith('empid_');
  for (const partitionKey of ['Sales', 'Support']) {
    const told = new Set<string>();
    const take = async (event: FeedEvent): Promise<void> => {
      const changed = await payloadOf(RowsChangedMessage, event);
      for (const { rowKey, change } of changed?.rows ?? []) {
        if (change === 'deleted') told.delete(rowKey);
        else told.add(rowKey);
      }
    };
    await consumerGroupOf(changeFeedOf(table), 'matrix').consume(partitionKey, take);
    const { rows } = await table.page({ partitionKey, select: [] });
    const there = rows.map(({ rowKey }) => rowKey).filter(isEmployee);
    assert.deepEqual([...told].filter(isEmployee).toSorted(), there);
  }
}

/** Whether the first attempt was applied, and only its answer was lost. */
function isRepetition(error: unknown): boolean {
  return error instanceof EntityExistsError || error instanceof EntityNotFoundError;
}

interface ChosenCase {
  readonly pattern: string;
  readonly what: Promised;
}

const cases: readonly ChosenCase[] = Object.keys(patterns).flatMap((pattern) =>
  promised.map((what) => ({ pattern, what })),
);

interface RunsOptions {
  readonly under: Beneath;
  readonly place: string;
  readonly site: Site;
}

/** The official client takes many times as long as tables in memory. */
function costlyAt(site: Site): ReturnType<typeof costly> {
  return site === server ? costly() : { skip: false };
}

function runs(chosen: readonly ChosenCase[], { under, place, site }: RunsOptions): void {
  for (const { pattern, what } of chosen) {
    it(`keeps ${what}, over ${under}, ${place}: ${pattern}`, costlyAt(site), async () => {
      const { isUpgraded, isMove, prepare, run, finish } = patterns[pattern] ?? unknown;
      const kind = { what, under, isUpgraded, isMove };
      const prepared = async (): Promise<Raw> => {
        const raw = await staffed(site, kind);
        await prepare?.(open(raw, kind), raw);
        return raw;
      };
      const again = site.remember?.(await prepared());
      await crashEverywhere<Raw>({
        prepare: () => (again === undefined ? prepared() : Promise.resolve(again())),
        run: async (raw, doomed) => {
          try {
            await run(open(doomedRaw(raw, doomed), kind));
          } catch (error) {
            if (!isRepetition(error)) throw error;
          }
        },
        recover: async (raw) => finish?.(open(raw, kind)),
        check: async (raw) => {
          await assertInStep(open(raw, kind), kind);
          if (isEncrypted(under)) await assertSealed(raw);
        },
      });
    });
  }
}

const seed = seedSetting('MATRIX_SEED');

/**
 * Every way to write × everything that a table keeps, over what is beneath the table, killed at
 * every request: nothing differs afterwards. The tables are in memory; some cases run on a server
 * as well. A run has some of the cases, others each time: `long` of them in the long form, or as
 * many as MATRIX_CASES says. MATRIX_SEED repeats a run.
 */
export function modelMatrix(under: Beneath, long = 120): void {
  const count = numberSetting('MATRIX_CASES', byLength({ short: 2, long }));
  describe(`whatever writes, over ${under} (MATRIX_SEED=${seed})`, () => {
    const random = new SimRandom(seed);
    const inMemory = drawn(random, count);
    runs(inMemory, { under, place: 'in memory', site: memory });
    const onServer = drawn(random, byLength({ short: 1, long: 2 }));
    runs(onServer, { under, place: 'on a server', site: server });
  });
}

/** So many of the cases, or all, in a random order: neighbours are alike. */
function drawn(random: SimRandom, count: number): readonly ChosenCase[] {
  return cases
    .map((item) => ({ item, rank: random.int(2 ** 31) }))
    .sort((left, right) => left.rank - right.rank)
    .slice(0, count)
    .map(({ item }) => item);
}
