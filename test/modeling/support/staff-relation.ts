import { StaffDepartment, StaffEmployee } from './staff.js';

/** Departments that count their employees once more, by a relation. */
export const oneToManyOptions = {
  parent: StaffDepartment,
  child: StaffEmployee,
  parentOf: ({ department }: { readonly department: string }) => ({ department }),
  count: 'changes',
} as const;
