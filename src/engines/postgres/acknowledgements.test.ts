import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { Acknowledgements } from './acknowledgements.js';
import { statementsFor } from './statements.js';

const hourMicros = 3_600_000_000;

function int8(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/** A database that has the given batches of sessions, and ends at the given version. */
function database(batches: readonly (readonly [number, number])[], last: number) {
  const rows = batches.map((row) => row.map(int8));
  const statements = statementsFor('tabularium');
  return {
    query: ({ name }: { readonly name: string }) =>
      Promise.resolve(name === statements.lastVersion.name ? [[int8(last)]] : rows),
  };
}

void describe('the record of acknowledged batches', () => {
  for (const others of [1, 1_500, 5_000]) {
    void it(`keeps that of an idle session while another makes ${others} batches`, async () => {
      const losses: number[] = [];
      const acknowledgements = new Acknowledgements({
        statements: statementsFor('tabularium'),
        clock: manualClock(),
        accepts: true,
        onLoss: (_, { acknowledged }) => losses.push(acknowledged),
      });
      acknowledgements.note({ session: '1', batch: 1, commits: 1, version: 1 });
      for (let batch = 1; batch <= others; batch += 1) {
        acknowledgements.note({ session: '2', batch, commits: 1, version: batch + 1 });
      }
      const last = others + 1;
      await acknowledgements.assertKept(
        database(
          [
            [1, 1],
            [2, others],
          ],
          last,
        ),
      );
      assert.deepEqual([losses, acknowledgements.hasLost], [[], false]);
      await acknowledgements.assertKept(database([[2, others]], last));
      assert.deepEqual([losses, acknowledgements.hasLost], [[1], true]);
      // A loss that was accepted is told once.
      await acknowledgements.assertKept(database([[2, others]], last));
      assert.deepEqual(losses, [1]);
    });
  }

  const passings: Readonly<Record<string, { readonly hours: readonly number[]; told: number }>> = {
    'tells of a batch of 22 hours ago': { hours: [22], told: 1 },
    'says nothing of a batch of 23 hours ago, whose row may have been removed': {
      hours: [23],
      told: 0,
    },
    'says nothing of it either when the clock was set back since': { hours: [23, -100], told: 0 },
    'tells of a batch of an hour ago when the clock was set back since': {
      hours: [1, -100],
      told: 1,
    },
  };
  for (const [name, { hours, told }] of Object.entries(passings)) {
    void it(name, async () => {
      const losses: number[] = [];
      const clock = manualClock();
      const acknowledgements = new Acknowledgements({
        statements: statementsFor('tabularium'),
        clock,
        accepts: true,
        onLoss: (_, { acknowledged }) => losses.push(acknowledged),
      });
      acknowledgements.note({ session: '1', batch: 1, commits: 1, version: 1 });
      for (const each of hours) clock.advanceMicros(each * hourMicros);
      await acknowledgements.assertKept(database([], 1));
      assert.equal(losses.length, told);
    });
  }
});
