import {
  defineEntity,
  instant,
  int32,
  key,
  string,
  type RowWrite,
  type StandardSchema,
  type TableGateway,
} from '../../../src/modeling/index.js';
import {
  indexEntity,
  indexTable,
  otherPartition,
  samePartition,
  withIndexes,
  type ListBlobs,
} from '../../../src/modeling/patterns/indexes/index.js';
import { changeFeed } from '../../../src/modeling/patterns/change-feed/index.js';
import {
  announcement,
  copies,
  counter,
  openModel,
  type DerivationDeclaration,
} from '../../../src/modeling/model/index.js';
import { defineMessage, handle } from '../../../src/modeling/worker/index.js';

// A staff with everything that a table can promise: indexes beside the employee and elsewhere,
// copies of the lead's name, counts in the department and for the whole company, a feed of all.

const person = {
  department: string(),
  id: int32(),
  lastName: string(),
  email: string(),
  note: string().optional(),
};
/** What older programs called a salary. */
const wage = 'wage';
const OldEmployee = defineEntity({
  type: 'Employee',
  properties: { ...person, [wage]: int32().default(0) },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(4)}`,
});
const staffed = {
  type: 'Employee',
  properties: { ...person, salary: int32().default(0) },
} as const;
export const StaffEmployee = defineEntity({
  ...staffed,
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(4)}`,
});
/** Employees of whom older programs have stored some. */
export const UpgradedEmployee: typeof StaffEmployee = defineEntity({
  ...staffed,
  version: 2,
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(4)}`,
}).upgrading(OldEmployee, ({ [wage]: salary, ...rest }) => ({ ...rest, salary }));
export const StaffDepartment = defineEntity({
  type: 'Department',
  properties: {
    department: string(),
    title: string().default(''),
    count: int32().default(0),
    salaries: int32().default(0),
    changes: int32().default(0),
    lead: string().optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`department`,
});
export const Company = defineEntity({
  type: 'Company',
  properties: { name: string(), count: int32().default(0) },
  partitionKey: (p) => key`company_${p.name}`,
  rowKey: () => key`total`,
});
export const Badge = defineEntity({
  type: 'Badge',
  properties: { department: string(), id: int32(), lastName: string().default('') },
  partitionKey: () => key`badges`,
  rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
});

export const Summary = defineEntity({
  type: 'Summary',
  properties: { department: string(), people: int32().default(0) },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`summary`,
});

/** What an employee does on a day, as a series of hours. */
export const Day = defineEntity({
  type: 'Day',
  properties: { department: string(), id: int32(), day: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`day_${p.id.padded(4)}_${p.day}`,
});
const Days = withIndexes(Day, {
  byDay: samePartition({ rowKey: (p) => key`of_${p.day}_${p.id.padded(4)}` }),
  everywhere: otherPartition({
    partitionKey: (p) => key`days_${p.day}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
  }),
});

/** What happened to an employee, latest first. */
export const Event = defineEntity({
  type: 'Event',
  properties: { department: string(), id: int32(), at: instant(), what: string() },
  partitionKey: (p) => key`events_${p.department}`,
  rowKey: (p) => key`${p.at.descending()}_${p.id.padded(4)}`,
});
const Events = withIndexes(Event, {
  byEmployee: samePartition({ rowKey: (p) => key`of_${p.id.padded(4)}_${p.at.ascending()}` }),
  everywhere: otherPartition({
    partitionKey: (p) => key`what_${p.what}`,
    rowKey: (p) => key`${p.department}_${p.at.ascending()}_${p.id.padded(4)}`,
  }),
});

/** What visitors an employee has, spread over buckets. */
export const Visit = defineEntity({
  type: 'Visit',
  properties: { department: string(), bucket: int32(), id: int32(), what: string() },
  partitionKey: (p) => key`visits_${p.department}_${p.bucket.padded(2)}`,
  rowKey: (p) => key`visit_${p.id.padded(4)}`,
});
const Visits = withIndexes(Visit, {
  byWhat: samePartition({ rowKey: (p) => key`of_${p.what}_${p.id.padded(4)}` }),
  everywhere: otherPartition({
    partitionKey: (p) => key`what_${p.what}`,
    rowKey: (p) => key`visit_${p.department}_${p.id.padded(4)}`,
  }),
});

/** How many have applied, as a shard of a counter. */
export const Tally = defineEntity({
  type: 'Tally',
  properties: { department: string(), shard: int32(), people: int32().default(0) },
  partitionKey: (p) => key`tally_${p.department}_${p.shard.padded(2)}`,
  rowKey: () => key`applied`,
});
const Tallies = withIndexes(Tally, {
  byPeople: samePartition({ rowKey: (p) => key`people_${p.people.padded(4)}` }),
  everywhere: otherPartition({
    partitionKey: (p) => key`people_${p.people.padded(4)}`,
    rowKey: (p) => key`${p.department}_${p.shard.padded(2)}`,
  }),
});

/** What is announced of an employee: the name, or none when the employee is gone. */
export interface ToldEmployee {
  readonly department: string;
  readonly id: number;
  readonly lastName?: string | undefined;
}
const toldEmployee: StandardSchema<ToldEmployee> = {
  '~standard': {
    version: 1,
    vendor: 'staff',
    validate: (value) => ({ value: value as ToldEmployee }),
  },
};
const EmployeeTold = defineMessage('staff.told', { payload: toldEmployee });

/** The lead of each department. */
export const lead = 1;

const indexSetsOf = (employee: typeof StaffEmployee) => ({
  'index in the partition': withIndexes(employee, {
    email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  }),
  'list in the partition': withIndexes(employee, {
    lastName: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
  }),
  'index elsewhere': withIndexes(employee, {
    mail: otherPartition({
      partitionKey: (p) => key`mail_${p.email}`,
      rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
      include: ['lastName'],
    }),
  }),
  'list elsewhere': withIndexes(employee, {
    names: indexEntity({
      place: 'other-partition',
      partitionKey: (p) => key`names_${p.lastName}`,
      rowKey: () => key`ids`,
    }),
  }),
  'index in a table': withIndexes(employee, {
    mailTable: indexTable({
      partitionKey: (p) => key`${p.email}`,
      rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
      include: ['lastName', 'salary', 'note'],
    }),
  }),
  'list in a blob': withIndexes(employee, {
    nameBlob: indexEntity({ place: 'blob', name: (p) => key`${p.lastName}` }),
  }),
  all: withIndexes(employee, {
    email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
    lastName: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
    mail: otherPartition({
      partitionKey: (p) => key`mail_${p.email}`,
      rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
      include: ['lastName'],
    }),
    names: indexEntity({
      place: 'other-partition',
      partitionKey: (p) => key`names_${p.lastName}`,
      rowKey: () => key`ids`,
    }),
    mailTable: indexTable({
      partitionKey: (p) => key`${p.email}`,
      rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
      include: ['lastName', 'salary', 'note'],
    }),
    nameBlob: indexEntity({ place: 'blob', name: (p) => key`${p.lastName}` }),
  }),
});

const keptOf = (employee: typeof StaffEmployee) =>
  ({
    'copy in the partition': copies({
      source: employee,
      target: StaffDepartment,
      targetsOf: ({ department, id }) => (id === lead ? [{ department }] : []),
      sourceOf: ({ department }) => ({ department, id: lead }),
      copy: (employee) => ({ lead: employee?.lastName }),
    }),
    'copy elsewhere': copies({
      source: employee,
      target: Badge,
      targetsOf: ({ department, id }) => [{ department, id }],
      sourceOf: ({ department, id }) => ({ department, id }),
      copy: (employee) => ({ lastName: employee?.lastName ?? '' }),
    }),
    'counter in the partition': counter({
      source: employee,
      view: StaffDepartment,
      keyOf: ({ department }) => ({ department }),
      measures: { count: () => 1, salaries: ({ salary }) => salary },
    }),
    'counter elsewhere': counter({
      source: employee,
      view: Company,
      keyOf: () => ({ name: 'contoso' }),
      measures: { count: () => 1 },
    }),
    'change feed': changeFeed(),
    'announcements without moves': announcement({
      source: employee,
      message: EmployeeTold,
      of: ({ before, after }) => {
        const employee = after ?? before;
        if (employee === undefined) return undefined;
        const { department, id } = employee;
        return { department, id, lastName: after?.lastName };
      },
      moves: 'silent',
    }),
  }) satisfies Readonly<Record<string, DerivationDeclaration>>;

const others = {
  departments: StaffDepartment,
  companies: Company,
  badges: Badge,
  days: Days,
  events: Events,
  visits: Visits,
  tallies: Tallies,
};

const indexSets = indexSetsOf(StaffEmployee);
const kept = keptOf(StaffEmployee);

export type Promised = keyof typeof indexSets | keyof typeof kept;
export const promised = [...Object.keys(indexSets), ...Object.keys(kept)] as readonly Promised[];

/** Where a staff is, and where its indexes in other tables and in blobs are. */
export interface StaffPlaces {
  readonly table: TableGateway;
  readonly mails: TableGateway;
  readonly names: ListBlobs;
  /** Gets what is announced, in the order in which it is handled. */
  readonly told?: ToldEmployee[];
}

function handlersOf({ told }: StaffPlaces) {
  return [handle(EmployeeTold, (employee) => Promise.resolve(void told?.push(employee)))];
}

/** The model of a staff that keeps one thing, or all of them. */
export function openStaff(places: StaffPlaces, what: Promised = 'all', employee = StaffEmployee) {
  const { table, mails, names } = places;
  const [indexSets, kept] = [indexSetsOf(employee), keptOf(employee)];
  const employees = what in indexSets ? indexSets[what as keyof typeof indexSets] : employee;
  return openModel({
    table,
    tables: what in indexSets ? { employees: { mailTable: mails } } : {},
    blobs: what in indexSets ? { employees: { nameBlob: names } } : {},
    entities: { employees, ...others },
    handlers: handlersOf(places),
    keeps:
      what === 'all' ? Object.values(kept) : what in kept ? [kept[what as keyof typeof kept]] : [],
  });
}

/** The model with everything, for look-ups. */
export function openWholeStaff(places: StaffPlaces) {
  const { table, mails, names } = places;
  return openModel({
    table,
    tables: { employees: { mailTable: mails } },
    blobs: { employees: { nameBlob: names } },
    entities: { employees: indexSets.all, ...others },
    handlers: handlersOf(places),
    keeps: Object.values(kept),
  });
}

/** Stores the employees of a table, and their copies, as programs of the older version did. */
export async function storeOldEmployees(table: TableGateway): Promise<void> {
  const { rows } = await table.page({});
  for (const { partitionKey, rowKey, properties, etag } of rows) {
    const { EntityVersion, salary, ...kept } = properties;
    if (EntityVersion?.value !== UpgradedEmployee.version) continue;
    const old = salary === undefined ? kept : { ...kept, [wage]: salary };
    const write: RowWrite = {
      kind: 'replace',
      row: { partitionKey, rowKey, properties: old },
      etag,
    };
    await table.write(write);
  }
}

export function employeeOf(id: number, values: Partial<NewEmployee> = {}): NewEmployee {
  return { department: 'Sales', id, lastName: 'Jones', email: `${id}@x`, salary: 10, ...values };
}

export interface NewEmployee {
  readonly department: string;
  readonly id: number;
  readonly lastName: string;
  readonly email: string;
  readonly salary?: number;
  readonly note?: string;
}
