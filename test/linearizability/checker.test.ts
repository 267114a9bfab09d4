import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { check, type Model, type Decision } from './checker.js';
import type { Operation } from './history.js';
import { partitionModel, type PartitionInput, type PartitionOutput } from './partition-model.js';
import { queueModel, type QueueInput, type QueueOutput } from './queue-model.js';
import { costly } from '../support/run-length.js';

// Histories that the checker must accept, and others that only a faulty server produces.

/** One operation a line: when it began and ended, its input and its output. */
type Line<Input, Output> = readonly [from: number, to: number, input: Input, output?: Output];

function outcomeOf<State, Input, Output>(
  modelOf: (history: readonly Operation<Input, Output>[]) => Model<State, Input, Output>,
  lines: readonly Line<Input, Output>[],
): Decision['kind'] {
  const history = lines.map(([invokedAt, respondedAt, input, output]): Operation<Input, Output> => {
    return { invokedAt, respondedAt, input, output };
  });
  return check(modelOf(history), history).kind;
}

const never = Infinity;
const etag = (number: number) => `W/"datetime'2026-01-01T00%3A00%3A00.000000${number}Z'"`;
const replace = (row: string, a: number, ifMatch?: string): PartitionInput => ({
  kind: 'write',
  write: { kind: 'replace', row, a, b: a, ...(ifMatch === undefined ? {} : { ifMatch }) },
});
const pair = (a: number): PartitionInput => ({
  kind: 'group',
  writes: ['x', 'y'].map((row) => ({ kind: 'replace', row, a, b: a })),
});
const written = (...numbers: number[]): PartitionOutput => ({
  kind: 'written',
  etags: numbers.map(etag),
});
const rows = (all: Readonly<Record<string, readonly [number, number]>>): PartitionOutput => ({
  kind: 'rows',
  rows: Object.fromEntries(
    Object.entries(all).map(([row, [a, version]]) => [row, { a, b: a, etag: etag(version) }]),
  ),
});
const get: PartitionInput = { kind: 'get', row: 'x' };
const query: PartitionInput = { kind: 'query' };
const changed = { kind: 'refused', code: 'UpdateConditionNotSatisfied', index: 0 } as const;

type PartitionLine = Line<PartitionInput, PartitionOutput>;

const soundPartitions: Readonly<Record<string, readonly PartitionLine[]>> = {
  'a read beside a write sees either': [
    [0, 1, replace('x', 1), written(1)],
    [2, 9, replace('x', 2), written(2)],
    [3, 4, get, rows({ x: [1, 1] })],
    [5, 6, get, rows({ x: [2, 2] })],
  ],
  'a write without answer is seen later': [
    [0, never, replace('x', 1)],
    [1, 2, get, rows({})],
    [3, 4, get, rows({ x: [1, 1] })],
    [5, 6, replace('x', 2, etag(1)), written(2)],
  ],
  'a write without answer never happens': [
    [0, never, replace('x', 1)],
    [1, 2, get, rows({})],
  ],
};

const brokenPartitions: Readonly<Record<string, readonly PartitionLine[]>> = {
  'a stale read': [
    [0, 1, replace('x', 1), written(1)],
    [2, 3, replace('x', 2), written(2)],
    [4, 5, get, rows({ x: [1, 1] })],
  ],
  'a lost write': [
    [0, 1, replace('x', 1), written(1)],
    [2, 3, get, rows({})],
  ],
  'two writers that both match one etag': [
    [0, 1, replace('x', 1), written(1)],
    [2, 9, replace('x', 2, etag(1)), written(2)],
    [3, 8, replace('x', 3, etag(1)), written(3)],
  ],
  'half a group': [
    [0, 1, pair(1), written(1, 1)],
    [2, 9, pair(2), written(2, 2)],
    [3, 4, query, rows({ x: [2, 2], y: [1, 1] })],
  ],
  'reads that go back': [
    [0, 1, replace('x', 1), written(1)],
    [2, never, replace('x', 2)],
    [3, 4, get, rows({ x: [2, 2] })],
    [5, 6, get, rows({ x: [1, 1] })],
  ],
  'a version below one before': [
    [0, 1, replace('x', 1), written(2)],
    [2, 3, replace('y', 2), written(1)],
  ],
  'a refusal without reason': [
    [0, 1, replace('x', 1), written(1)],
    [2, 3, replace('x', 2, etag(1)), changed],
  ],
  'a value that nobody wrote': [[0, 1, get, rows({ x: [7, 1] })]],
};

type QueueLine = Line<QueueInput, QueueOutput>;

const put = (serial: number): QueueInput => ({ kind: 'put', serial });
const take: QueueInput = { kind: 'get', alone: false };
const takeAlone: QueueInput = { kind: 'get', alone: true };
const remove = (serial: number, receipt: string): QueueInput => ({
  kind: 'delete',
  serial,
  receipt,
});
const held = (serial: number, receipt: string, count: number): QueueOutput => {
  return { kind: 'held', serial, receipt, count };
};
const done: QueueOutput = { kind: 'done' };

/** `lost` messages are put and not there at the end; eight gets had no response. */
function drainedQueue({ lost }: { readonly lost: number }): QueueLine[] {
  const serials = Array.from({ length: 24 }, (_, index) => index + 1);
  let now = 0;
  const lines: QueueLine[] = serials.map((serial) => [
    now++,
    now++,
    put(serial),
    held(serial, `put${serial}`, 0),
  ]);
  for (let get = 0; get < 8; get += 1) lines.push([now++, never, take]);
  for (const serial of serials.slice(lost)) {
    lines.push([now++, now++, takeAlone, held(serial, `got${serial}`, 1)]);
  }
  lines.push([now++, now++, takeAlone, done]);
  return lines;
}

const soundQueues: Readonly<Record<string, readonly QueueLine[]>> = {
  'a get without answer may have taken a message': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, never, take],
    [3, 4, takeAlone, done],
  ],
  'as many messages are missing as gets had no answer': drainedQueue({ lost: 8 }),
  'a release and a get without answers': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, 3, take, held(1, 'b', 1)],
    [4, never, { kind: 'release', serial: 1, receipt: 'b' }],
    [5, 6, remove(1, 'b'), { kind: 'refused' }],
    [7, never, take],
    [8, 9, takeAlone, done],
  ],
  'a message is taken, and its receipt works once': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, 3, take, held(1, 'b', 1)],
    [4, 5, remove(1, 'a'), { kind: 'refused' }],
    [6, 7, remove(1, 'b'), done],
    [8, 9, takeAlone, done],
  ],
};

const brokenQueues: Readonly<Record<string, readonly QueueLine[]>> = {
  'a message that two get': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, 5, take, held(1, 'b', 1)],
    [3, 4, take, held(1, 'c', 1)],
  ],
  'a lost message': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, 3, takeAlone, done],
  ],
  'one message more is missing than gets had no answer': drainedQueue({ lost: 9 }),
  'a deleted message that comes back': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, 3, remove(1, 'a'), done],
    [4, 5, take, held(1, 'b', 1)],
  ],
  'a message that nobody put': [[0, 1, take, held(1, 'b', 1)]],
  'two uses of one receipt': [
    [0, 1, put(1), held(1, 'a', 0)],
    [2, 5, remove(1, 'a'), done],
    [3, 4, remove(1, 'a'), done],
  ],
};

void describe('the checker of histories', () => {
  for (const [name, lines] of Object.entries(soundPartitions)) {
    void it(`accepts: ${name}`, () => {
      assert.equal(
        outcomeOf(() => partitionModel, lines),
        'linearizable',
      );
    });
  }
  for (const [name, lines] of Object.entries(brokenPartitions)) {
    void it(`refuses: ${name}`, costly(), () => {
      assert.equal(
        outcomeOf(() => partitionModel, lines),
        'not linearizable',
      );
    });
  }
  for (const [name, lines] of Object.entries(soundQueues)) {
    void it(`accepts: ${name}`, () => assert.equal(outcomeOf(queueModel, lines), 'linearizable'));
  }
  for (const [name, lines] of Object.entries(brokenQueues)) {
    void it(`refuses: ${name}`, () => {
      assert.equal(outcomeOf(queueModel, lines), 'not linearizable');
    });
  }
});
