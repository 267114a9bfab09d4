import { findProperty, propertyBagOf, readValue } from '../../src/model/bag/bag.js';
import type { EdmValue, StoredEntity } from '../../src/model/edm/value.js';
import { StorageError } from '../../src/model/errors/storage-error.js';
import type { TableService } from '../../src/services/tables/table-service.js';
import type { WriteOperation } from '../../src/services/tables/types.js';
import type { SimRandom } from './sim-random.js';

/** Bank accounts in one partition, the sum of whose balances never changes. */
export const transferAccount = 'acct';
export const transferTable = 'bank';
const partitionKey = 'p';
const holders = 12;
const opening = 1000;
const balanceName = Buffer.from('balance');

export interface TransferOutcome {
  readonly moved: number;
  /** Transfers that had no effect because of a concurrent change. */
  readonly refused: number;
  /** States that readers saw and that must not be visible. */
  readonly violations: readonly string[];
}

export async function openBank(service: TableService): Promise<void> {
  await service.createTable(transferAccount, transferTable);
  const operations = Array.from({ length: holders }, (_, holder): WriteOperation => ({
    kind: 'insert',
    entity: {
      partitionKey,
      rowKey: rowKeyOf(holder),
      properties: propertyBagOf([balance(opening)]),
    },
  }));
  await service.transact(transferAccount, transferTable, operations);
}

/** Reads the whole partition in one page; returns what is wrong with it. */
export async function auditBank(service: TableService): Promise<string[]> {
  const page = await service.queryEntities(transferAccount, transferTable, {
    filter: {
      kind: 'comparison',
      property: 'PartitionKey',
      operator: 'eq',
      literal: { type: 'Edm.String', value: partitionKey },
    },
  });
  const sum = page.entities.reduce((total, entity) => total + balanceOf(entity), 0);
  if (page.next === undefined && page.entities.length === holders && sum === holders * opening) {
    return [];
  }
  return [`${page.entities.length} holders with ${sum} in all`];
}

/** Makes transfers between random holders, each as one group of conditional writes. */
export async function runTransfers(
  service: TableService,
  random: SimRandom,
  transfers: number,
): Promise<TransferOutcome> {
  let moved = 0;
  let refused = 0;
  const violations: string[] = [];
  for (let round = 0; round < transfers; round += 1) {
    if (await transfer(service, random)) moved += 1;
    else refused += 1;
    violations.push(...(await auditBank(service)));
  }
  return { moved, refused, violations };
}

/** Distributes an amount of one holder to several others; false when one of them has changed. */
async function transfer(service: TableService, random: SimRandom): Promise<boolean> {
  const from = random.int(holders);
  const others = new Set(Array.from({ length: random.between(1, 5) }, () => random.int(holders)));
  others.delete(from);
  const amount = random.between(1, 20);
  const giver = await read(service, from);
  const takers = await Promise.all([...others].map((holder) => read(service, holder)));
  const operations = [
    write(giver, balanceOf(giver) - amount * takers.length),
    ...takers.map((taker) => write(taker, balanceOf(taker) + amount)),
  ];
  try {
    await service.transact(transferAccount, transferTable, operations);
    return true;
  } catch (error) {
    if (error instanceof StorageError && error.code === 'UpdateConditionNotSatisfied') return false;
    throw error;
  }
}

function read(service: TableService, holder: number): Promise<StoredEntity> {
  return service.getEntity(transferAccount, transferTable, partitionKey, rowKeyOf(holder));
}

function write({ rowKey, version }: StoredEntity, amount: number): WriteOperation {
  return {
    kind: 'replace',
    entity: { partitionKey, rowKey, properties: propertyBagOf([balance(amount)]) },
    condition: { kind: 'version', version },
  };
}

function balance(amount: number): { name: string; value: EdmValue } {
  return { name: 'balance', value: { type: 'Edm.Int32', value: amount } };
}

function balanceOf({ bag }: StoredEntity): number {
  const value = readValue(bag, findProperty(bag, balanceName));
  if (value.type !== 'Edm.Int32') throw new Error(`a balance of type ${value.type}`);
  return value.value;
}

function rowKeyOf(holder: number): string {
  return `holder-${String(holder).padStart(2, '0')}`;
}
