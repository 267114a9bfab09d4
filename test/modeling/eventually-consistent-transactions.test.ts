import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import {
  codecOf,
  ConditionFailedError,
  EntityNotFoundError,
  type RequestReport,
  type StoredRow,
  type TableGateway,
} from '../../src/modeling/index.js';
import { withEncryption } from '../../src/modeling/encryption/index.js';
import { blobIn } from '../../src/modeling/patterns/eventually-consistent-transactions/blob-place.js';
import { fileIn } from '../../src/modeling/patterns/eventually-consistent-transactions/file-place.js';
import {
  bytesOfRow,
  rowOfBytes,
} from '../../src/modeling/patterns/eventually-consistent-transactions/row-bytes.js';
import { rowIn } from '../../src/modeling/patterns/eventually-consistent-transactions/row-place.js';
import {
  StepConflictError,
  type Step,
  type StepOutcome,
} from '../../src/modeling/patterns/eventually-consistent-transactions/step.js';
import {
  copyStep,
  mirrorStep,
  moveStep,
} from '../../src/modeling/patterns/eventually-consistent-transactions/transfer-steps.js';
import {
  defineWorkflow,
  UnfinishedIntentError,
  type StepReport,
} from '../../src/modeling/patterns/eventually-consistent-transactions/workflow.js';
import {
  deleteStep,
  upsertStep,
} from '../../src/modeling/patterns/eventually-consistent-transactions/write-steps.js';
import { keyPayload } from '../../src/modeling/worker/entity-payload.js';
import type { QueuePort } from '../../src/modeling/worker/queue-port.js';
import { queueWorkerOf } from '../../src/modeling/worker/worker.js';
import { startBlobs } from '../support/blob-backend.js';
import { keyRing } from '../../src/modeling/encryption/key-wrapper.js';
import { CountingKey } from './support/encryption-keys.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import {
  HiredEmployee,
  employeeKey,
  insertEmployee,
  type EmployeeKey,
} from './support/employees.js';
import { impatientTimers } from './support/impatient-timers.js';
import { messageCount, startQueueWorld } from './support/queue-world.js';
import { costly } from '../support/run-length.js';

// Queue-first changes over real tables, queues, blobs and files.

const world = await startQueueWorld();
const { time } = world;
const blobServer = await startBlobs();
const blobService = BlobServiceClient.fromConnectionString(blobServer.connectionString);
const directory = await mkdtemp(join(tmpdir(), 'tabularium-steps-'));
after(async () => {
  await blobServer[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const jones: EmployeeKey = { department: 'Sales', id: 456 };
const payload = keyPayload(HiredEmployee);
let places = 0;

function context(signal = new AbortController().signal) {
  return { intentId: 'intent', attempt: 1, signal };
}

async function newContainer() {
  places += 1;
  const container = blobService.getContainerClient(`steps-${places}`);
  await container.create();
  return container;
}

async function changesOf(table: TableGateway, key = jones): Promise<number | undefined> {
  const row = await table.get(employeeKey(key));
  return row === undefined ? undefined : codecOf(HiredEmployee).fromRow(row).changes;
}

/**
 * Increments the number of changes, like another part of a program; false when the employee is
 * gone.
 */
async function changeOnce(table: TableGateway): Promise<boolean> {
  for (;;) {
    const row = await table.get(employeeKey(jones));
    if (row === undefined) return false;
    const employee = codecOf(HiredEmployee).fromRow(row);
    const changed = codecOf(HiredEmployee).toRow({ ...employee, changes: employee.changes + 1 });
    try {
      await table.write({ kind: 'replace', row: changed, etag: row.etag });
      return true;
    } catch (error) {
      if (error instanceof EntityNotFoundError) return false;
      if (!(error instanceof ConditionFailedError)) throw error;
    }
  }
}

/** A gateway that calls back right after the nth read of a whole row. */
function interrupted(
  table: TableGateway,
  nth: number,
  happen: () => Promise<unknown>,
): TableGateway {
  let reads = 0;
  return {
    table: table.table,
    get: async (key, select) => {
      const row = await table.get(key, select);
      reads += select === undefined ? 1 : 0;
      if (select === undefined && reads === nth) await happen();
      return row;
    },
    write: (write) => table.write(write),
    transact: (writes) => table.transact(writes),
    page: (query) => table.page(query),
  };
}

function moveOf(current: TableGateway, archive: TableGateway): Step<EmployeeKey> {
  return moveStep({ from: rowIn(current, employeeKey), to: rowIn(archive, employeeKey) });
}

interface Office {
  readonly current: TableGateway;
  readonly archive: TableGateway;
  readonly queue: QueuePort;
  readonly poison: QueuePort;
}

type World = Office & { readonly realQueue: Parameters<typeof messageCount>[0] };

async function newOffice(): Promise<World> {
  const { queue, poison } = await world.newSource();
  const current = await world.newTable();
  await insertEmployee(current);
  return { current, archive: await world.newTable(), queue, poison, realQueue: queue };
}

function doomedOffice({ current, archive, queue, poison }: Office, doomed: Doomed): Office {
  return {
    current: doomed.wrap(current),
    archive: doomed.wrap(archive),
    queue: doomed.wrap(queue),
    poison: doomed.wrap(poison),
  };
}

type Steps = (office: Office) => readonly Step<EmployeeKey>[];

function workflowOf(office: Office, steps: Steps, reports: StepReport[] = []) {
  return defineWorkflow('archive-employee', {
    payload,
    steps: steps(office),
    observer: (report) => reports.push(report),
  });
}

async function drain(office: Office, steps: Steps): Promise<void> {
  const { handler } = workflowOf(office, steps);
  const worker = queueWorkerOf({
    sources: [office],
    handlers: [handler],
    clock: time.clock,
    timers: impatientTimers,
  });
  while ((await worker.drain()).failed > 0) await time.pass(300_000);
}

async function checkArchived({ current, archive, realQueue }: World): Promise<void> {
  assert.equal(await current.get(employeeKey(jones)), undefined);
  assert.equal(await changesOf(archive), 0);
  assert.equal(await messageCount(realQueue), 0);
}

const moveSteps: Steps = ({ current, archive }) => [moveOf(current, archive)];
const guideSteps: Steps = ({ current, archive }) => [
  copyStep({ from: rowIn(current, employeeKey), to: rowIn(archive, employeeKey) }),
  deleteStep({ from: rowIn(current, employeeKey) }),
];

for (const [name, steps] of [
  ['by moving', moveSteps],
  ['by copying and deleting', guideSteps],
] as const) {
  describe(`archiving an employee ${name}`, () => {
    it('ends in the archive, wherever the worker crashes', costly(), async () => {
      const requests = await crashEverywhere<World>({
        prepare: async () => {
          const office = await newOffice();
          await workflowOf(office, steps).start(office.queue, jones);
          return office;
        },
        run: (office, doomed) => drain(doomedOffice(office, doomed), steps),
        restart: () => time.pass(60_000),
        recover: (office, doomed) => drain(doomedOffice(office, doomed), steps),
        check: checkArchived,
      });
      assert.ok(requests.length >= 6, requests.join(' '));
    });
  });
}

describe('a move', () => {
  it('makes three requests where nobody interferes, and two when all is done', async () => {
    const requests: string[] = [];
    const observer = ({ table, kind }: RequestReport) => requests.push(`${kind} ${table}`);
    const current = await world.newTable({ observer });
    const archive = await world.newTable({ observer });
    await insertEmployee(current);
    requests.length = 0;
    const move = moveOf(current, archive);
    assert.equal(await move.run(jones, context()), 'done');
    assert.deepEqual(requests, [
      `point-read ${current.table}`,
      `insert ${archive.table}`,
      `delete ${current.table}`,
    ]);
    requests.length = 0;
    assert.equal(await move.run(jones, context()), 'already-done');
    assert.deepEqual(requests, [`point-read ${current.table}`, `point-read ${archive.table}`]);
    assert.equal(await move.run({ ...jones, id: 1 }, context()), 'void');
  });

  it('keeps every change that others make meanwhile', costly(), async () => {
    for (let round = 0; round < 2; round += 1) {
      const office = await newOffice();
      await workflowOf(office, moveSteps).start(office.queue, jones);
      let changes = 0;
      const writers = Array.from({ length: 16 }, async () => {
        for (let change = 0; change < 3; change += 1) {
          if (await changeOnce(office.current)) changes += 1;
        }
      });
      await drain(office, moveSteps);
      await Promise.all(writers);
      assert.equal(await changesOf(office.archive), changes);
    }
  });

  it('keeps encrypted what the source keeps encrypted', async () => {
    const plain = await world.newTable();
    const keys = keyRing(new CountingKey('https://vault/keys/one').kek);
    const open = (table: TableGateway) =>
      withEncryption(table, { keys, resolver: (_pk, _rk, name) => name === 'name' });
    const [current, archive] = [open(await world.newTable()), await world.newTable()];
    await insertEmployee(current);
    const refused = moveOf(current, plain).run(jones, context());
    await assert.rejects(refused, /name must be encrypted/);
    assert.equal(await moveOf(current, open(archive)).run(jones, context()), 'done');
    const moved = await open(archive).get(employeeKey(jones));
    assert.equal(moved?.properties['name']?.value, 'Jones');
    assert.equal((await archive.get(employeeKey(jones)))?.properties['name']?.type, 'Binary');
  });

  it('replaces what is at the target', async () => {
    const { current, archive } = await newOffice();
    await insertEmployee(archive, { changes: 99 });
    assert.equal(await moveOf(current, archive).run(jones, context()), 'done');
    assert.equal(await changesOf(archive), 0);
    assert.equal(await changesOf(current), undefined);
  });

  it('loses nothing when many runs of it meet', costly(), async () => {
    for (let round = 0; round < 5; round += 1) {
      const { current, archive } = await newOffice();
      const runs = Array.from({ length: 16 }, () => moveOf(current, archive).run(jones, context()));
      const outcomes = await Promise.all(runs);
      assert.ok(outcomes.includes('done'));
      assert.ok(!outcomes.includes('void'));
      assert.equal(await changesOf(archive), 0);
      assert.equal(await changesOf(current), undefined);
    }
  });

  it('does not put an old version over a newer one that another run has moved', async () => {
    const { current, archive } = await newOffice();
    await insertEmployee(archive, { changes: 99 });
    const overtaken = interrupted(current, 2, async () => {
      await changeOnce(current);
      assert.equal(await moveOf(current, archive).run(jones, context()), 'done');
    });
    assert.equal(await moveOf(overtaken, archive).run(jones, context()), 'already-done');
    assert.equal(await changesOf(archive), 1);
    assert.equal(await changesOf(current), undefined);
  });

  it('leaves alone what has the key, and is not what was meant', async () => {
    const { current, archive } = await newOffice();
    const meant = new Date('2012-05-01T00:00:00Z').getTime();
    const move = moveStep({
      from: rowIn(current, employeeKey),
      to: rowIn(archive, employeeKey),
      isMeant: (row: StoredRow) => codecOf(HiredEmployee).fromRow(row).hiredAt.getTime() === meant,
    });
    assert.equal(await move.run(jones, context()), 'done');
    await insertEmployee(current, { hiredAt: new Date('2020-01-01T00:00:00Z'), changes: 7 });
    assert.equal(await move.run(jones, context()), 'already-done');
    assert.equal(await changesOf(current), 7);
    assert.equal(await changesOf(archive), 0);
  });

  it('writes nothing once its signal is aborted', async () => {
    const { current, archive } = await newOffice();
    const aborted = moveOf(current, archive).run(jones, context(AbortSignal.abort()));
    await assert.rejects(aborted, { name: 'AbortError' });
    assert.equal(await changesOf(archive), undefined);
  });

  it('gives up for the time being when others never stop changing the source', async () => {
    const { current, archive } = await newOffice();
    let reads = 0;
    const restless: TableGateway = {
      table: current.table,
      get: async (key, select) => {
        const row = await current.get(key, select);
        reads += 1;
        await changeOnce(current);
        return row;
      },
      write: (write) => current.write(write),
      transact: (writes) => current.transact(writes),
      page: (query) => current.page(query),
    };
    await assert.rejects(moveOf(restless, archive).run(jones, context()), StepConflictError);
    assert.equal(reads, 10);
    assert.equal(await changesOf(current), 10);
  });
});

describe('a mirror', () => {
  const mirrorOf = (original: TableGateway, copy: TableGateway) =>
    mirrorStep({ from: rowIn(original, employeeKey), to: rowIn(copy, employeeKey) });

  it('follows its original, whatever becomes of it', async () => {
    const { current, archive } = await newOffice();
    const mirror = mirrorOf(current, archive);
    assert.equal(await mirror.run(jones, context()), 'done');
    assert.equal(await changesOf(archive), 0);
    await changeOnce(current);
    assert.equal(await mirror.run(jones, context()), 'done');
    assert.equal(await changesOf(archive), 1);
    await current.write({ kind: 'delete', key: employeeKey(jones), etag: '*' });
    assert.equal(await mirror.run(jones, context()), 'done');
    assert.equal(await changesOf(archive), undefined);
    assert.equal(await mirror.run(jones, context()), 'already-done');
  });

  it('leaves no copy of an original that was deleted while it was copied', async () => {
    const { current, archive } = await newOffice();
    const overtaken = interrupted(current, 1, async () => {
      await current.write({ kind: 'delete', key: employeeKey(jones), etag: '*' });
      assert.equal(await mirrorOf(current, archive).run(jones, context()), 'already-done');
    });
    assert.equal(await mirrorOf(overtaken, archive).run(jones, context()), 'done');
    assert.equal(await changesOf(archive), undefined);
  });

  it('does not put an old version over a newer one that another run has copied', async () => {
    const { current, archive } = await newOffice();
    await insertEmployee(archive, { changes: 99 });
    const overtaken = interrupted(current, 1, async () => {
      await changeOnce(current);
      assert.equal(await mirrorOf(current, archive).run(jones, context()), 'done');
    });
    assert.equal(await mirrorOf(overtaken, archive).run(jones, context()), 'done');
    assert.equal(await changesOf(archive), 1);
  });

  it(
    'is like its original in the end, however many write and mirror at once',
    costly(),
    async () => {
      for (let round = 0; round < 2; round += 1) {
        const { current, archive } = await newOffice();
        const mirror = mirrorOf(current, archive);
        const converge = async (): Promise<void> => {
          await mirror.run(jones, context()).catch((error: unknown) => {
            if (!(error instanceof StepConflictError)) throw error;
            return converge();
          });
        };
        const writers = Array.from({ length: 8 }, async (_, writer) => {
          for (let change = 0; change < 6; change += 1) {
            const isDelete = (writer + change + round) % 3 === 0;
            if (isDelete) {
              const deletion = { kind: 'delete', key: employeeKey(jones), etag: '*' } as const;
              await current.write(deletion).catch(ignoreAbsence);
            } else {
              const changes = writer * 100 + change;
              const row = codecOf(HiredEmployee).toRow({ ...(await anEmployee()), changes });
              await current.write({ kind: 'upsert-replace', row });
            }
            await converge();
          }
        });
        await Promise.all(writers);
        assert.equal(await changesOf(archive), await changesOf(current));
      }
    },
  );
});

function ignoreAbsence(error: unknown): undefined {
  if (!(error instanceof EntityNotFoundError)) throw error;
  return undefined;
}

async function anEmployee() {
  const table = await world.newTable();
  await insertEmployee(table);
  const row = await table.get(employeeKey(jones));
  return row === undefined ? assert.fail() : codecOf(HiredEmployee).fromRow(row);
}

describe('steps to blobs and files', () => {
  const rowName = ({ department, id }: EmployeeKey) => `${department}/${id}.json`;

  it('move rows to blobs and back, every type kept', async () => {
    const { current } = await newOffice();
    const container = await newContainer();
    const before = await current.get(employeeKey(jones));
    const blobs = blobIn(container, rowName, { contentType: 'application/json' });
    const rows = rowIn(current, employeeKey);
    const out = moveStep({ from: rows, to: blobs, convert: bytesOfRow });
    assert.equal(await out.run(jones, context()), 'done');
    assert.equal(await current.get(employeeKey(jones)), undefined);
    assert.equal(await out.run(jones, context()), 'already-done');
    const back = moveStep({ from: blobs, to: rows, convert: rowOfBytes });
    assert.equal(await back.run(jones, context()), 'done');
    assert.deepEqual((await current.get(employeeKey(jones)))?.properties, before?.properties);
    assert.equal(await container.getBlobClient('Sales/456.json').exists(), false);
    assert.equal(await back.run({ ...jones, id: 1 }, context()), 'void');
  });

  it('move rows to files and back, every type kept, and leave no other file', async () => {
    const { current } = await newOffice();
    const before = await current.get(employeeKey(jones));
    const folder = join(directory, 'move');
    const files = fileIn(folder, rowName);
    const rows = rowIn(current, employeeKey);
    const out = moveStep({ from: rows, to: files, convert: bytesOfRow });
    assert.equal(await out.run(jones, context()), 'done');
    assert.equal(await current.get(employeeKey(jones)), undefined);
    assert.deepEqual(await readdir(join(folder, 'Sales')), ['456.json']);
    const back = moveStep({ from: files, to: rows, convert: rowOfBytes });
    assert.equal(await back.run(jones, context()), 'done');
    assert.deepEqual((await current.get(employeeKey(jones)))?.properties, before?.properties);
    assert.deepEqual(await readdir(join(folder, 'Sales')), []);
  });

  it('do not show what a table keeps encrypted', () => {
    const row = {
      ...employeeKey(jones),
      properties: { Note: { type: 'String', value: 'x' } },
    } as const;
    assert.equal(rowOfBytes(bytesOfRow(row)).rowKey, 'empid_000456');
    assert.throws(() => bytesOfRow({ ...row, encrypt: ['Note'] }), /encrypted properties \(Note\)/);
  });

  it('stay inside their directory', async () => {
    const files = fileIn(join(directory, 'inside'), (name: string) => name);
    for (const outside of ['../escaped', '/etc/escaped', 'a/../../escaped', '.']) {
      assert.throws(() => files.slot(outside), /outside the directory/, outside);
    }
    assert.equal(await files.slot('a/../kept').store(new Uint8Array([1]), undefined), true);
    assert.deepEqual(await readdir(join(directory, 'inside')), ['kept']);
  });

  for (const kind of ['blob', 'file'] as const) {
    it(`store a ${kind} only over the version that was seen`, async () => {
      const container = await newContainer();
      const place =
        kind === 'blob'
          ? blobIn(container, (name: string) => name)
          : fileIn(join(directory, 'versions'), (name: string) => name);
      const slot = place.slot('thing');
      const bytes = (text: string) => Buffer.from(text);
      assert.equal(await slot.etag(), undefined);
      assert.equal(await slot.read(), undefined);
      assert.equal(await slot.delete('*'), false);
      assert.equal(await slot.store(bytes('one'), '"0x1"'), false);
      assert.equal(await slot.store(bytes('one'), undefined), true);
      assert.equal(await slot.store(bytes('two'), undefined), false);
      const etag = await slot.etag();
      assert.equal((await slot.read())?.etag, etag);
      assert.equal(await slot.store(bytes('three'), etag), true);
      assert.equal(await slot.store(bytes('four'), etag), false);
      assert.equal(await slot.delete(etag ?? ''), false);
      assert.equal(Buffer.from((await slot.read())?.value ?? []).toString(), 'three');
      assert.equal(await slot.delete((await slot.etag()) ?? ''), true);
      assert.equal(await slot.read(), undefined);
    });
  }

  it('ends in the blob, wherever the worker crashes', costly(), async () => {
    const container = await newContainer();
    let count = 0;
    await crashEverywhere<World & { readonly blob: string }>({
      prepare: async () => {
        count += 1;
        const office = await newOffice();
        await workflowOf(office, () => []).start(office.queue, jones);
        return { ...office, blob: `${count}` };
      },
      run: (office, doomed) => drain(doomedOffice(office, doomed), archiveIn(office.blob, doomed)),
      restart: () => time.pass(60_000),
      recover: (office, doomed) =>
        drain(doomedOffice(office, doomed), archiveIn(office.blob, doomed)),
      check: async ({ current, blob, realQueue }) => {
        assert.equal(await current.get(employeeKey(jones)), undefined);
        const bytes = await container.getBlobClient(blob).downloadToBuffer();
        assert.equal(rowOfBytes(bytes).rowKey, 'empid_000456');
        assert.equal(await messageCount(realQueue), 0);
      },
      moments: ['before', 'after'],
    });

    function archiveIn(blob: string, doomed: Doomed): Steps {
      const client = container.getBlockBlobClient(blob);
      const { containerName } = container;
      const doomedContainer = {
        containerName,
        getBlockBlobClient: () => doomed.wrap(client),
      };
      return ({ current }) => [
        moveStep({
          from: rowIn(current, employeeKey),
          to: blobIn(doomedContainer, () => blob),
          convert: bytesOfRow,
        }),
      ];
    }
  });
});

describe('a workflow', () => {
  it('takes its steps in order, again from the first when one fails', async () => {
    const office = await newOffice();
    const taken: string[] = [];
    let failures = 1;
    const steps: Steps = () => [
      {
        name: 'one',
        run: async () => {
          taken.push('one');
          await Promise.resolve();
        },
      },
      {
        name: 'two',
        run: () => {
          taken.push('two');
          failures -= 1;
          return failures >= 0 ? Promise.reject(new Error('not yet')) : Promise.resolve();
        },
      },
      {
        name: 'three',
        run: (_payload, { intentId, attempt }) => {
          taken.push(`three ${intentId} ${attempt}`);
          return Promise.resolve();
        },
      },
    ];
    await workflowOf(office, steps).start(office.queue, jones, { id: 'my intent' });
    await drain(office, steps);
    assert.deepEqual(taken, ['one', 'two', 'one', 'two', 'three my intent 2']);
  });

  it('takes no further step when there was nothing to work on, and is finished', async () => {
    const office = await newOffice();
    const outcomes: StepOutcome[] = [];
    const reports: StepReport[] = [];
    const steps: Steps = ({ current, archive }) => [
      moveOf(current, archive),
      { name: 'never', run: () => Promise.resolve(void outcomes.push('done')) },
    ];
    const workflow = workflowOf(office, steps, reports);
    const { outcome } = await workflow.perform(office.queue, { ...jones, id: 1 });
    assert.equal(outcome, 'void');
    assert.deepEqual(outcomes, []);
    assert.deepEqual(
      reports.map((report) => report.outcome),
      ['void'],
    );
    assert.equal(await messageCount(office.realQueue), 0);
  });

  it('stores what an intent tells, and deletes what may be gone', async () => {
    const { archive } = await newOffice();
    const upsert = upsertStep({
      table: archive,
      row: (key: EmployeeKey) => ({
        ...employeeKey(key),
        properties: { Note: { type: 'String', value: 'archived' } },
      }),
    });
    const remove = deleteStep({ from: rowIn(archive, employeeKey) });
    assert.equal(await upsert.run(jones, context()), 'done');
    assert.equal(await upsert.run(jones, context()), 'done');
    assert.equal(await remove.run(jones, context()), 'done');
    assert.equal(await remove.run(jones, context()), 'already-done');
  });
});

describe('the types of a workflow', () => {
  it('refuse steps and intents of another payload', () => {
    const run = (given: { readonly city: string }) => Promise.resolve(void given.city);
    const other = { name: 'other', run };
    const workflow = defineWorkflow('typed', {
      payload,
      steps: [{ name: 'ours', run: ({ department }) => Promise.resolve(void department.length) }],
    });
    // @ts-expect-error -- a step for cities cannot take employees
    defineWorkflow('wrong', { payload, steps: [other] });
    // @ts-expect-error -- an employee's key has an id
    const start = (queue: QueuePort) => workflow.start(queue, { department: 'Sales' });
    assert.equal(typeof start, 'function');
  });
});

/** Performs the move over a queue whose deletes are refused. */
function performUndeleted(
  office: World,
  refusal: { readonly statusCode: number; readonly code: string },
) {
  const refuse = () => Promise.reject(Object.assign(new Error('refused'), refusal));
  const queue = Object.assign(Object.create(office.queue) as QueuePort, { deleteMessage: refuse });
  return workflowOf(office, moveSteps).perform(queue, jones);
}

describe('a workflow performed at once', () => {
  it('is done when it resolves, with one message put and deleted', async () => {
    const office = await newOffice();
    const { outcome } = await workflowOf(office, moveSteps).perform(office.queue, jones);
    assert.equal(outcome, 'done');
    await checkArchived(office);
  });

  it('is finished by a worker, wherever the process crashes', async () => {
    const requests = await crashEverywhere<World>({
      prepare: newOffice,
      run: async (office, doomed) => {
        const fragile = doomedOffice(office, doomed);
        await workflowOf(fragile, moveSteps).perform(fragile.queue, jones);
      },
      restart: () => time.pass(60_000),
      recover: async (office) => {
        const isStated = (await messageCount(office.realQueue)) > 0;
        await drain(office, moveSteps);
        if (isStated || (await changesOf(office.current)) === undefined) return;
        // The run died before its first message was stored, so nothing may have happened.
        assert.equal(await changesOf(office.archive), undefined);
        await workflowOf(office, moveSteps).perform(office.queue, jones);
      },
      check: checkArchived,
    });
    assert.deepEqual(requests, ['sendMessage', 'get', 'write', 'write', 'deleteMessage']);
  });

  it('tells that its message is left, unless somebody else has it', async () => {
    for (const [status, code] of [
      [403, 'AuthorizationPermissionMismatch'],
      [404, 'QueueNotFound'],
      [503, 'ServerBusy'],
    ] as const) {
      const office = await newOffice();
      const performed = performUndeleted(office, { statusCode: status, code });
      await assert.rejects(
        performed,
        (error) =>
          error instanceof UnfinishedIntentError &&
          error.outcome === 'done' &&
          /all steps .* are done, but its message may still be .* finds nothing left to do.*refused/.test(
            error.message,
          ),
      );
      assert.equal(await messageCount(office.realQueue), 1);
      await time.pass(60_000);
      await drain(office, moveSteps);
      await checkArchived(office);
    }
    const office = await newOffice();
    const gone = { statusCode: 404, code: 'MessageNotFound' };
    assert.equal((await performUndeleted(office, gone)).outcome, 'done');
  });

  it('stands when a step fails', async () => {
    const office = await newOffice();
    const failing: Steps = () => [
      { name: 'fail', run: () => Promise.reject(new Error('out of paper')) },
    ];
    const performed = workflowOf(office, failing).perform(office.queue, jones, { id: 'mine' });
    await assert.rejects(
      performed,
      (error) => error instanceof UnfinishedIntentError && error.intentId === 'mine',
    );
    assert.equal(await changesOf(office.current), 0);
    await time.pass(60_000);
    await drain(office, moveSteps);
    await checkArchived(office);
  });
});
