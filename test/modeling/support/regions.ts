import { defineEntity, int32, key, string } from '../../../src/modeling/index.js';

// A partition a region: its departments, which count their employees, and these beside them.

export const RegionalDepartment = defineEntity({
  type: 'Department',
  properties: { region: string(), name: string(), employees: int32().default(0) },
  partitionKey: (p) => key`${p.region}`,
  rowKey: (p) => key`DEPARTMENT_${p.name}`,
});

export const RegionalEmployee = defineEntity({
  type: 'Employee',
  properties: {
    region: string(),
    department: string(),
    id: int32(),
    name: string().default('Jo'),
    changes: int32().default(0),
  },
  partitionKey: (p) => key`${p.region}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
});

/** The key of the department that a regional employee belongs to. */
export const regionalDepartmentOf = ({
  region,
  department,
}: {
  readonly region: string;
  readonly department: string;
}) => ({ region, name: department });
