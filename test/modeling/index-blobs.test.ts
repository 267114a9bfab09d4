import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { key, type TableGateway } from '../../src/modeling/index.js';
import {
  indexEntity,
  indexedEntitiesOf,
  openListBlobs,
  withIndexes,
  type ListBlobs,
} from '../../src/modeling/patterns/indexes/index.js';
import { changeListBlob } from '../../src/modeling/patterns/index-entities/list-blobs.js';
import { startBlobs } from '../support/blob-backend.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { Employee } from './support/employees.js';
import { assertInStep, driftsOf, employee } from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

// Index entities in blobs, in a real table and a real blob service.

const tables = await startTables();
const blobServer = await startBlobs();
after(async () => {
  await tables[Symbol.asyncDispose]();
  await blobServer[Symbol.asyncDispose]();
});
const service = BlobServiceClient.fromConnectionString(blobServer.connectionString, {
  retryOptions: { maxTries: 1 },
});
let containers = 0;

const any = { ifMatch: 'any' };

const indexes = withIndexes(Employee, {
  lastName: indexEntity({ place: 'blob', name: (p) => key`${p.lastName}` }),
});

async function newContainer(): Promise<ContainerClient> {
  containers += 1;
  const container = service.getContainerClient(`index${containers}`);
  await container.create();
  return container;
}

interface World {
  readonly table: TableGateway;
  readonly blobs: ListBlobs;
  readonly container: ContainerClient;
}

async function newWorld(): Promise<World> {
  const container = await newContainer();
  const { gateway } = await tables.newTable();
  return { table: gateway, blobs: openListBlobs(container, 'lastname/'), container };
}

function open({ table, blobs }: Pick<World, 'table' | 'blobs'>) {
  const places = { table, blobs: { lastName: blobs }, outbox: testOutbox(table) };
  return indexedEntitiesOf(indexes, places);
}

function drain(world: Pick<World, 'table' | 'blobs'>): Promise<void> {
  return drainOutbox(world.table, open(world).handler);
}

async function textsOf(container: ContainerClient): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for await (const { name } of container.listBlobsFlat()) {
    texts[name] = (await container.getBlobClient(name).downloadToBuffer()).toString();
  }
  return texts;
}

describe('index entities in blobs', () => {
  it('list the entities of a whole company, a line each, in a blob for each value', async () => {
    const world = await newWorld();
    const employees = open(world);
    await employees.insert(employee(2));
    await employees.insert(employee(1));
    await employees.insert(employee(1, { department: 'Marketing' }));
    await employees.insert(employee(3, { lastName: '' }));
    await employees.insert(employee(4, { lastName: 'a/b?' }));
    await drain(world);
    assert.deepEqual(await textsOf(world.container), {
      'lastname/.txt': 'Sales/empid_000003\n',
      'lastname/Jones.txt': 'Marketing/empid_000001\nSales/empid_000001\nSales/empid_000002\n',
      'lastname/a.\uffee2Fb>\uffee3F.txt': 'Sales/empid_000004\n',
    });
    assert.deepEqual(await employees.by.lastName.keys({ lastName: 'Jones' }), [
      { department: 'Marketing', id: 1 },
      { department: 'Sales', id: 1 },
      { department: 'Sales', id: 2 },
    ]);
    const found = [];
    for await (const { id } of employees.by.lastName.entities({ lastName: 'a/b?' })) found.push(id);
    assert.deepEqual(found, [4]);
    await assertInStep(employees);
  });

  it('go with their last entry', async () => {
    const world = await newWorld();
    const employees = open(world);
    await employees.insert(employee(1));
    await employees.merge({ department: 'Sales', id: 1 }, { lastName: 'Smith' }, any);
    await drain(world);
    assert.deepEqual(Object.keys(await textsOf(world.container)), ['lastname/Smith.txt']);
    await employees.delete({ department: 'Sales', id: 1 }, any);
    await drain(world);
    assert.deepEqual(await textsOf(world.container), {});
    assert.deepEqual(await employees.by.lastName.keys({ lastName: 'Smith' }), []);
  });

  it('lose nothing when 16 writers change one of them at the same time', costly(), async () => {
    const { blobs } = await newWorld();
    const change = async (text: string): Promise<void> => {
      while (!(await changeListBlob(blobs, 'Jones', { add: [text], remove: [] })));
    };
    const texts = Array.from({ length: 16 }, (_, index) => `Sales/empid_${100 + index}`);
    await Promise.all(texts.map(change));
    assert.deepEqual((await blobs.read('Jones'))?.list, texts);
  });

  it('are verified and mended', async () => {
    const world = await newWorld();
    const employees = open(world);
    for (let id = 0; id < 5; id++) await employees.insert(employee(id));
    await drain(world);
    await changeListBlob(world.blobs, 'Jones', {
      add: ['Sales/empid_000009'],
      remove: ['Sales/empid_000002'],
    });
    const drifts = await driftsOf(employees.verify());
    assert.deepEqual(
      drifts.map(({ kind, primary, key: at }) => `${kind} ${primary.rowKey} ${at.rowKey}`).sort(),
      ['dangling empid_000009 Jones', 'missing empid_000002 Jones'],
    );
    assert.deepEqual(await driftsOf(employees.rebuild()), []);
    await assertInStep(employees);
  });

  it('are filled for a table that is in use', costly(), async () => {
    const world = await newWorld();
    const employees = open(world);
    for (let id = 0; id < 40; id++) await employees.insert(employee(id));
    await drain(world);
    for (const name of ['Jones']) {
      const blob = await world.blobs.read(name);
      assert.ok(blob !== undefined && (await world.blobs.delete(name, blob.etag)));
    }
    let written = 0;
    for await (const page of employees.backfill('lastName')) {
      assert.deepEqual(page.drifts, []);
      written += page.written;
    }
    assert.equal(written, 40);
    await assertInStep(employees);
  });

  it('end right whenever a worker dies', costly(), async () => {
    await crashEverywhere<World>({
      prepare: async () => {
        const world = await newWorld();
        const employees = open(world);
        await employees.insert(employee(1));
        await employees.insert(employee(2));
        await drain(world);
        await employees.merge({ department: 'Sales', id: 1 }, { lastName: 'Smith' }, any);
        await employees.delete({ department: 'Sales', id: 2 }, any);
        return world;
      },
      run: (world, doomed: Doomed) =>
        drain({ table: doomed.wrap(world.table), blobs: doomed.wrap(world.blobs) }),
      recover: (world) => drain(world),
      check: async (world) => {
        await assertInStep(open(world));
        assert.deepEqual(await textsOf(world.container), {
          'lastname/Smith.txt': 'Sales/empid_000001\n',
        });
      },
    });
  });

  it('must have somewhere to be', async () => {
    const { table } = await newWorld();
    assert.throws(
      // @ts-expect-error the blobs are missing
      () => indexedEntitiesOf(indexes, { table, outbox: testOutbox(table) }),
      /give them as blobs.lastName/,
    );
  });
});
