import {
  codecOf,
  dateTime,
  defineEntity,
  int32,
  key,
  string,
  type CreateOf,
  type KeyOf,
  type TableGateway,
} from '../../../src/modeling/index.js';

/** Employees of the guide without further properties: what their keys are made of. */
const Numbered = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

/**
 * Properties and keys of an employee of the table design guide, for tests that need a shape of
 * their own.
 */
export const numbered = Numbered.properties;
export const asEmployee = {
  type: Numbered.type,
  partitionKey: () => Numbered.partitionKey,
  rowKey: () => Numbered.rowKey,
} as const;

/** The employees of the table design guide, with its keys. */
export const Employee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    firstName: string(),
    lastName: string(),
    email: string(),
    age: int32().optional(),
    town: string().optional(),
    badge: int32().optional(),
    locker: string().optional(),
  },
});

/** What writers change, and when the employee was hired. */
export const HiredEmployee = defineEntity({
  ...asEmployee,
  properties: { ...numbered, name: string(), changes: int32(), hiredAt: dateTime() },
});

/** A name as only property. */
export const NamedEmployee = defineEntity({
  ...asEmployee,
  properties: { ...numbered, name: string() },
});

/** With what indexes find employees by, and a number that writers count up. */
export const ListedEmployee = defineEntity({
  ...asEmployee,
  properties: { ...numbered, lastName: string(), email: string(), raises: int32().default(0) },
});

export type EmployeeKey = KeyOf<typeof HiredEmployee>;

export const employeeKey = (employee: EmployeeKey) => codecOf(HiredEmployee).key(employee);

export function newEmployee(
  values: Partial<CreateOf<typeof HiredEmployee>> = {},
): CreateOf<typeof HiredEmployee> {
  const hiredAt = new Date('2012-05-01T00:00:00Z');
  return { department: 'Sales', id: 456, name: 'Jones', changes: 0, hiredAt, ...values };
}

export async function insertEmployee(
  table: TableGateway,
  values: Partial<CreateOf<typeof HiredEmployee>> = {},
): Promise<void> {
  await table.write({ kind: 'insert', row: codecOf(HiredEmployee).toRow(newEmployee(values)) });
}
