import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  bulk,
  codecOf,
  dataSeriesOf,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  int32,
  key,
  oneToManyOf,
  string,
  writesOf,
  type TableGateway,
} from '../../src/modeling/index.js';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import {
  moveStep,
  rowIn,
} from '../../src/modeling/patterns/eventually-consistent-transactions/index.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/index.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/index.js';
import { partitionViewOf } from '../../src/modeling/patterns/materialised-views/index.js';
import { relocated, reKeyingOf, type Phase } from '../../src/modeling/patterns/re-keying/index.js';
import { rowLeasesOf } from '../../src/modeling/patterns/row-leases/index.js';
import { hashRouting, shardMapOf } from '../../src/modeling/patterns/shard-map/index.js';
import {
  defineWideEntity,
  wideEntitiesOf,
} from '../../src/modeling/patterns/wide-entities/index.js';
import { isLong, sampled } from '../support/run-length.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { CountingKey } from './support/encryption-keys.js';
import { impatientTimers } from './support/impatient-timers.js';
import { startTables } from './support/observed-tables.js';
import { oneToManyOptions } from './support/staff-relation.js';
import {
  Badge,
  Day,
  Department,
  Employee,
  employeeOf,
  openStaff,
  promised,
  Summary,
  type Promised,
} from './support/staff.js';

// Every way to write × everything that a table keeps × what is beneath the table, killed at every
// request: nothing differs afterwards.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const wrapper = new CountingKey('matrix');
const long = 'x'.repeat(600);
const at = (id: number) => ({ department: 'Sales', id });
const any = { ifMatch: 'any' };

/** The tables of a world, by name: whatever a process sends goes to one of them. */
type Raw = Readonly<Record<'main' | 'more' | 'archive' | 'control', TableGateway>>;

/** What is beneath the table. Of an employee, the note is encrypted, or large. */
const beneath = {
  nothing: ({ main }: Raw) => main,
  encryption: ({ main }: Raw) =>
    withEncryption(main, {
      keys: keyRing(wrapper.kek),
      resolver: (_partition, _row, property) => property === 'note',
    }),
  'large values': ({ main }: Raw) =>
    withLargeValues(main, {
      stringUnitsInline: 100,
      compression: 'identity',
      properties: ['note'],
    }),
  'a shard map': ({ main, more, control }: Raw) =>
    shardMapOf({ name: 'staff', control, shards: { main, more }, refreshMs: 0, settleMs: 0 }).table,
} satisfies Readonly<Record<string, (raw: Raw) => TableGateway>>;

type Beneath = keyof typeof beneath;

interface Case {
  readonly what: Promised;
  readonly under: Beneath;
}

/** An entity of two rows, of which the table keeps nothing. */
const Review = defineWideEntity({
  type: 'Review',
  keys: { department: string(), id: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`review_${p.id.padded(4)}`,
  groups: { '01': { plan: string() }, '02': { result: string() } },
});

/** A process with the models of a case. */
function open(raw: Raw, { what, under }: Case) {
  const model = openStaff(beneath[under](raw), what);
  // Rows move as they are stored: the archive has what is beneath the table as well.
  const archive = openStaff(
    under === 'a shard map' ? raw.archive : beneath[under]({ ...raw, main: raw.archive }),
    what,
  );
  const relation = oneToManyOf({
    ...oneToManyOptions,
    table: model.table,
    timers: impatientTimers,
  });
  return {
    model,
    archive,
    relation,
    employees: entitiesOf(Employee, model.table, { timers: impatientTimers }),
    leases: rowLeasesOf(Employee, model.table, { holder: 'test', durationMs: 100 }),
    view: partitionViewOf({
      source: Employee,
      view: Summary,
      table: model.table,
      keyOf: ({ department }) => ({ department }),
      measures: { people: () => 1 },
      timers: impatientTimers,
    }),
    series: dataSeriesOf(Day, model.table, { slots: 24, value: int32() }),
    wide: wideEntitiesOf(Review, model.table),
    move: reKeyingOf({
      name: 'archive',
      ...relocated(Employee, model.table, archive.table),
      control: raw.control,
      refreshMs: 0,
      settleMs: 0,
      timers: impatientTimers,
    }),
    step: moveStep({
      from: rowIn(model.table, (key: { department: string; id: number }) =>
        codecOf(Employee).key(key),
      ),
      to: rowIn(archive.table, (key: { department: string; id: number }) =>
        codecOf(Employee).key(key),
      ),
    }),
  };
}

type Process = ReturnType<typeof open>;

interface Pattern {
  readonly run: (process: Process) => Promise<unknown>;
  /** Before the run that is killed. */
  readonly prepare?: (process: Process) => Promise<unknown>;
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
    run: async ({ employees }) => {
      const found = await employees.get(at(1));
      assert.ok(found !== undefined);
      return employees.replace({ ...found, lastName: 'Brown', email: 'new@x', salary: 11 });
    },
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
        .insert(Employee, employeeOf(4, { email: '2@x' }))
        .update(Employee, at(2), (current) => ({ ...current, email: 'other@x', salary: 1 }))
        .delete(Employee, at(3), any)
        .increment(Department, { department: 'Sales' }, 'changes')
        .run(),
  },
  'bulk work': {
    run: ({ model }) => {
      const make = writesOf(Employee, { stamp: false });
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
  'a child of a relation': {
    run: ({ relation }) => relation.add(employeeOf(4)),
  },
  'a child that is removed': {
    run: async ({ relation, employees }) => {
      const found = await employees.get(at(2));
      if (found !== undefined) await relation.remove(found);
    },
  },
  'a child that moves': {
    run: async ({ relation, employees }) => {
      const found = await employees.get(at(2));
      if (found === undefined) return;
      await relation.move(found, employeeOf(2, { department: 'Support', note: long }));
    },
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
  'a lease': {
    run: async ({ leases }) => {
      const lease = await leases.acquire(at(1));
      await lease.update((current) => ({ ...current, lastName: 'Brown', email: 'new@x' }));
      await lease.release();
    },
  },
  'a view of the partition': {
    run: async ({ view, employees }) => {
      await view.insert(employeeOf(4));
      const found = await employees.get(at(2));
      if (found !== undefined) await view.replace(found, { ...found, lastName: 'Brown' });
    },
  },
  'a move by an intent': {
    run: ({ step }) => step.run(at(2), stepContext()),
    finish: ({ step }) => step.run(at(2), stepContext()),
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

async function stepsTo(move: Process['move'], phase: Phase): Promise<void> {
  await move.start();
  if (phase === 'dual-writing') return;
  await move.backfill();
  await move.verify();
  if (phase === 'verifying') return;
  await move.cutOver();
  if (phase === 'done') await move.finish();
}

async function newRaw(under: Beneath): Promise<Raw> {
  const [main, more, archive, control] = await Promise.all([
    tables.newTable(),
    tables.newTable(),
    tables.newTable(),
    tables.newTable(),
  ]);
  const raw = {
    main: main.gateway,
    more: more.gateway,
    archive: archive.gateway,
    control: control.gateway,
  };
  if (under === 'a shard map') {
    const { control: kept, main: first, more: second } = raw;
    await shardMapOf({
      name: 'staff',
      control: kept,
      shards: { main: first, more: second },
    }).create(hashRouting(['main', 'more']));
  }
  return raw;
}

async function staffed(kind: Case): Promise<Raw> {
  const raw = await newRaw(kind.under);
  const { model } = open(raw, kind);
  for (const department of ['Sales', 'Support']) {
    const first = model.transaction().insert(Department, { department, title: department });
    for (const id of department === 'Sales' ? [1, 2, 3] : [1]) {
      first.insert(Employee, employeeOf(id, { department, email: `${id}@x`, note: long }));
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
    main: doomed.wrap(raw.main),
    more: doomed.wrap(raw.more),
    archive: doomed.wrap(raw.archive),
    control: doomed.wrap(raw.control),
  };
}

async function assertInStep({ model, archive }: Process): Promise<void> {
  for (const each of [model, archive]) {
    const { unfinished } = await each.drain();
    assert.deepEqual(unfinished, []);
    for await (const drift of each.verify()) assert.deepEqual(drift, undefined);
  }
}

/** Whether the first attempt was applied, and only its answer was lost. */
function isRepetition(error: unknown): boolean {
  return error instanceof EntityExistsError || error instanceof EntityNotFoundError;
}

const cases = Object.keys(patterns).flatMap((pattern) =>
  promised.flatMap((what) =>
    (Object.keys(beneath) as Beneath[]).map((under) => ({ pattern, what, under })),
  ),
);

describe('whatever writes', () => {
  for (const { pattern, what, under } of isLong ? cases : sampled(shuffled(cases), 2)) {
    it(`keeps ${what}, over ${under}: ${pattern}`, async () => {
      const { prepare, run, finish } = patterns[pattern] ?? { run: () => Promise.reject() };
      const kind = { what, under };
      await crashEverywhere<Raw>({
        prepare: async () => {
          const raw = await staffed(kind);
          await prepare?.(open(raw, kind));
          return raw;
        },
        run: async (raw, doomed) => {
          try {
            await run(open(doomedRaw(raw, doomed), kind));
          } catch (error) {
            if (!isRepetition(error)) throw error;
          }
        },
        recover: async (raw) => finish?.(open(raw, kind)),
        check: (raw) => assertInStep(open(raw, kind)),
      });
    });
  }
});

/** In a random order, because neighbours are alike. */
function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((left, right) => left.rank - right.rank)
    .map(({ item }) => item);
}
