import {
  defineEntity,
  int32,
  key,
  string,
  type TableGateway,
} from '../../../src/modeling/index.js';
import {
  indexEntity,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../../src/modeling/patterns/indexes/index.js';
import {
  copies,
  counter,
  openModel,
  type DerivationDeclaration,
} from '../../../src/modeling/model/index.js';

// A staff with everything that a table can promise: indexes beside the employee and elsewhere,
// copies of the lead's name, counts in the department and for the whole company.

export const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    lastName: string(),
    email: string(),
    salary: int32().default(0),
    note: string().optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(4)}`,
});
export const Department = defineEntity({
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

/** The lead of each department. */
export const lead = 1;

const indexSets = {
  'index in the partition': withIndexes(Employee, {
    email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  }),
  'list in the partition': withIndexes(Employee, {
    lastName: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
  }),
  'index elsewhere': withIndexes(Employee, {
    mail: otherPartition({
      partitionKey: (p) => key`mail_${p.email}`,
      rowKey: (p) => key`${p.department}_${p.id.padded(4)}`,
      include: ['lastName'],
    }),
  }),
  'list elsewhere': withIndexes(Employee, {
    names: indexEntity({
      place: 'other-partition',
      partitionKey: (p) => key`names_${p.lastName}`,
      rowKey: () => key`ids`,
    }),
  }),
  all: withIndexes(Employee, {
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
  }),
};

const kept = {
  'copy in the partition': copies({
    source: Employee,
    target: Department,
    targetsOf: ({ department, id }) => (id === lead ? [{ department }] : []),
    sourceOf: ({ department }) => ({ department, id: lead }),
    copy: ({ lastName }) => ({ lead: lastName }),
  }),
  'copy elsewhere': copies({
    source: Employee,
    target: Badge,
    targetsOf: ({ department, id }) => [{ department, id }],
    sourceOf: ({ department, id }) => ({ department, id }),
    copy: ({ lastName }) => ({ lastName }),
  }),
  'counter in the partition': counter({
    source: Employee,
    view: Department,
    keyOf: ({ department }) => ({ department }),
    measures: { count: () => 1, salaries: ({ salary }) => salary },
  }),
  'counter elsewhere': counter({
    source: Employee,
    view: Company,
    keyOf: () => ({ name: 'contoso' }),
    measures: { count: () => 1 },
  }),
} satisfies Readonly<Record<string, DerivationDeclaration>>;

export type Promised = keyof typeof indexSets | keyof typeof kept;
export const promised = [...Object.keys(indexSets), ...Object.keys(kept)] as readonly Promised[];

/** The model of a staff that keeps one thing, or all of them. */
export function openStaff(table: TableGateway, what: Promised = 'all') {
  const employees = what in indexSets ? indexSets[what as keyof typeof indexSets] : Employee;
  return openModel({
    table,
    entities: { employees, departments: Department, companies: Company, badges: Badge, days: Days },
    keeps:
      what === 'all' ? Object.values(kept) : what in kept ? [kept[what as keyof typeof kept]] : [],
  });
}

/** The model with everything, for look-ups. */
export function openWholeStaff(table: TableGateway) {
  return openModel({
    table,
    entities: {
      employees: indexSets.all,
      departments: Department,
      companies: Company,
      badges: Badge,
      days: Days,
    },
    keeps: Object.values(kept),
  });
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
