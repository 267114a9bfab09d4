import type { TableEntity } from '@azure/data-tables';
import {
  boolean,
  dateTime,
  defineEntity,
  double,
  guid,
  int32,
  int64,
  json,
  key,
  string,
  type CreateOf,
} from '../../src/modeling/index.js';
import { prose } from '../dataset.js';

interface Profile {
  readonly languages: readonly string[];
  readonly office: { readonly city: string; readonly floor: number };
  readonly about: string;
}

/** An entity as programs have them: ten properties beside the keys, of seven types. */
export const Person = defineEntity({
  type: 'Person',
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
    email: string(),
    age: int32(),
    salary: double(),
    serial: int64(),
    active: boolean(),
    badge: guid(),
    hiredAt: dateTime(),
    profile: json<Profile>(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(8)}`,
});

export type NewPerson = CreateOf<typeof Person>;

/** Two with the same arguments are equal. */
export function person(department: string, id: number): NewPerson {
  const digits = String(id).padStart(12, '0');
  return {
    department,
    id,
    firstName: prose(id, 8),
    lastName: prose(id + 1, 12),
    email: `${digits}@example.com`,
    age: 20 + (id % 45),
    salary: 40_000.5 + (id % 1000),
    serial: 9_007_199_254_740_993n + BigInt(id),
    active: id % 2 === 0,
    badge: `0f8fad5b-d9cb-469f-a165-${digits}`,
    hiredAt: new Date(1_700_000_000_000 + id * 1000),
    profile: {
      languages: ['English', 'Norwegian'],
      office: { city: prose(id + 2, 10), floor: id % 9 },
      about: prose(id + 3, 120),
    },
  };
}

export function rowKeyOf(id: number): string {
  return `empid_${String(id).padStart(8, '0')}`;
}

/**
 * The same as a program writes it by hand for the client: whatever has no type of its own is typed.
 */
export function toClientEntity({ department, id, ...values }: NewPerson): TableEntity {
  return {
    partitionKey: department,
    rowKey: rowKeyOf(id),
    firstName: values.firstName,
    lastName: values.lastName,
    email: values.email,
    age: values.age,
    salary: { type: 'Double', value: String(values.salary) },
    serial: values.serial,
    active: values.active,
    badge: { type: 'Guid', value: values.badge },
    hiredAt: values.hiredAt,
    profile: JSON.stringify(values.profile),
  };
}

/**
 * The conversions that a program must make by hand to use all of an entity that the client has
 * read.
 */
export function fromClientEntity(entity: Readonly<Record<string, unknown>>): object {
  return { ...entity, profile: JSON.parse(String(entity['profile'])) as Profile };
}
