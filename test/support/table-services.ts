import type { TestContext } from 'node:test';
import { systemClock, type Clock } from '../../src/base/clock.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import type { Store } from '../../src/kv/store.js';
import type { QueryBudget } from '../../src/services/tables/query.js';
import { TableService } from '../../src/services/tables/table-service.js';
import { propertyBagOf } from '../../src/model/bag/bag.js';
import type { EdmValue, EntityInput, Property } from '../../src/model/edm/value.js';
import { StorageError } from '../../src/model/errors/storage-error.js';
import { openTestStore, type EngineName } from './stores.js';

export const account = 'acct';

export interface ServiceUnderTest {
  readonly service: TableService;
  readonly store: Store;
}

export interface ServiceOptions {
  readonly clock?: Clock;
  readonly budget?: QueryBudget;
  /** Wraps the store of the service. */
  readonly wrap?: (store: Store) => Store;
}

export type OpenService = (
  context: TestContext,
  options?: ServiceOptions,
) => Promise<ServiceUnderTest>;

/**
 * A table service over a new store, closed with the test. Each commit must stay in one partition.
 */
export const openService: Readonly<Record<EngineName, OpenService>> = {
  async memory(context, options = {}) {
    return serviceOver(await openTestStore('memory', context, clockOf(options)), options);
  },
  async lmdb(context, options = {}) {
    return serviceOver(await openTestStore('lmdb', context, clockOf(options)), options);
  },
};

function clockOf({ clock = systemClock }: ServiceOptions): Clock {
  return clock;
}

function serviceOver(store: Store, options: ServiceOptions): ServiceUnderTest {
  const { clock = systemClock, budget, wrap = (inner) => inner } = options;
  const ruled = withPartitionRule(wrap(store));
  const parts = { store: ruled, clock };
  return { service: new TableService(budget === undefined ? parts : { ...parts, budget }), store };
}

export function int(value: number): EdmValue {
  return { type: 'Edm.Int32', value };
}

export function text(value: string): EdmValue {
  return { type: 'Edm.String', value };
}

/** An entity whose properties are Int32 numbers. */
export function entity(
  partitionKey: string,
  rowKey: string,
  numbers: Readonly<Record<string, number>> = {},
): EntityInput {
  const properties = Object.entries(numbers).map(([name, value]) => property(name, int(value)));
  return { partitionKey, rowKey, properties: propertyBagOf(properties) };
}

export function property(name: string, value: EdmValue): Property {
  return { name, value };
}

/** For `assert.rejects`: matches a `StorageError`. */
export function failsWith(
  code: StorageError['code'],
  expected: { readonly message?: string; readonly operationIndex?: number } = {},
): (error: unknown) => boolean {
  return (error) =>
    error instanceof StorageError &&
    error.code === code &&
    (expected.message === undefined || error.message === expected.message) &&
    (!('operationIndex' in expected) || error.operationIndex === expected.operationIndex);
}
