import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { LowWatermark, type WatermarkTicket } from './low-watermark.js';
import { TransactionGroups, type RowGroup } from './transaction-groups.js';
import { payloadBytes, payloadBytesMax, type WritableRow } from './transaction-writer.js';

interface NumberedRow extends WritableRow {
  readonly number: number;
}

const rows = fc
  .array(
    fc.record({
      partitionKey: fc.constantFrom('a', 'b', 'c'),
      rowKey: fc.integer({ min: 0, max: 150 }).map(String),
      size: fc.constantFrom(10, 10, 10, 900_000),
    }),
    { maxLength: 600 },
  )
  .map((all) =>
    all.map(({ size, ...keys }, number): NumberedRow => ({
      number,
      entity: { ...keys, properties: [] },
      body: 'x'.repeat(size),
    })),
  );

void describe('transaction groups', () => {
  void it('keep to the limits of a transaction and to the order of each partition', () => {
    fc.assert(
      fc.property(rows, (all) => {
        const groups = new TransactionGroups<NumberedRow>();
        const complete: RowGroup<NumberedRow>[] = all.flatMap((row) => groups.add(row));
        for (let rest = groups.takeOldest(); rest !== undefined; rest = groups.takeOldest()) {
          complete.push(rest);
        }
        assert.equal(groups.rowCount, 0);
        assert.equal(groups.byteCount, 0);
        for (const { partitionKey, rows } of complete) {
          assert.ok(rows.length >= 1 && rows.length <= 100);
          const keys = rows.map(({ entity }) => entity.rowKey);
          assert.equal(new Set(keys).size, keys.length);
          assert.ok(rows.every(({ entity }) => entity.partitionKey === partitionKey));
          assert.ok(rows.reduce((sum, row) => sum + payloadBytes(row), 0) <= payloadBytesMax);
        }
        for (const partition of ['a', 'b', 'c']) {
          const of = (some: readonly NumberedRow[]): number[] =>
            some
              .filter(({ entity }) => entity.partitionKey === partition)
              .map(({ number }) => number);
          assert.deepEqual(of(complete.flatMap((group) => group.rows)), of(all));
        }
      }),
      { numRuns: 50 },
    );
  });
});

void describe('the settled watermark', () => {
  void it('is behind the last row before which all are settled, in whatever order', () => {
    const order = fc.integer({ min: 1, max: 60 }).chain((count) =>
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, at) => at),
        { minLength: count },
      ),
    );
    fc.assert(
      fc.property(order, (settled) => {
        const watermark = new LowWatermark();
        const tickets: WatermarkTicket[] = settled.map((_, at) =>
          watermark.begin({ offset: at + 1, line: at + 1, row: at + 1 }),
        );
        const done = new Set<number>();
        for (const at of settled) {
          tickets[at]?.settle(at % 3 === 0 ? 'refused' : 'written');
          done.add(at);
          let expected = 0;
          while (done.has(expected)) expected++;
          assert.equal(watermark.position.row, expected);
          assert.equal(watermark.refused, Math.ceil(expected / 3));
          assert.equal(watermark.pendingCount, settled.length - expected);
        }
      }),
    );
  });
});
