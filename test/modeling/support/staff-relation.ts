import { Department, Employee } from './staff.js';

/** Departments that count their employees once more, by a relation. */
export const oneToManyOptions = {
  parent: Department,
  child: Employee,
  parentOf: ({ department }: { readonly department: string }) => ({ department }),
  count: 'changes',
} as const;
