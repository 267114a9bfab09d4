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

/** The employees of the table design guide, with its keys. */
export const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    name: string(),
    changes: int32(),
    hiredAt: dateTime(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

/** As `Employee`, with a name as only property. */
export const NamedEmployee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), name: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

/** With what indexes find employees by, and a number that writers count up. */
export const ListedEmployee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    lastName: string(),
    email: string(),
    raises: int32().default(0),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

export type EmployeeKey = KeyOf<typeof Employee>;

export const employeeKey = (employee: EmployeeKey) => codecOf(Employee).key(employee);

export function newEmployee(
  values: Partial<CreateOf<typeof Employee>> = {},
): CreateOf<typeof Employee> {
  const hiredAt = new Date('2012-05-01T00:00:00Z');
  return { department: 'Sales', id: 456, name: 'Jones', changes: 0, hiredAt, ...values };
}

export async function insertEmployee(
  table: TableGateway,
  values: Partial<CreateOf<typeof Employee>> = {},
): Promise<void> {
  await table.write({ kind: 'insert', row: codecOf(Employee).toRow(newEmployee(values)) });
}
