import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../../../test/support/manual-timers.js';
import { immediateTimers } from '../../../test/support/quick-timers.js';
import {
  noRows,
  scriptedPostgres,
  type ScriptedAnswer,
} from '../../../test/support/scripted-postgres.js';
import { it } from '../../base/conformance/limited-test.js';
import { holdingTimers } from '../../base/async/timers.js';
import { systemRandomness } from '../../base/randomness.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import { Connection } from './connection.js';
import { SnapshotReaders } from './readers.js';

const chunk = { name: 'chunk', text: 'select chunk' };
const begin = 'begin isolation level repeatable read read only';
const row = Buffer.from('row');

/** One reader, over a server that answers as it is told; to other statements with a row. */
async function readersOver(answers: Readonly<Record<string, () => ScriptedAnswer | undefined>>) {
  const server = await scriptedPostgres(
    (statement) => answers[statement]?.() ?? (statement === chunk.text ? oneRow : noRows),
  );
  const { address } = server;
  let opened = 0;
  const { timers } = immediateTimers();
  const readers = new SnapshotReaders(
    {
      retries: { backOffMs: { first: 1, last: 1 }, timers, randomness: systemRandomness },
      connect: (_, pipelines = false) => {
        opened += 1;
        const own = { prepares: true, isRelaxed: false, timers: holdingTimers };
        return Connection.open({ ...own, address, pipelines });
      },
    },
    1,
  );
  return {
    server,
    readers,
    opened: () => opened,
    /** Reads a chunk. `seen`: called with each row before the read returns. */
    read: (seen: () => void = () => undefined) =>
      readers.read(
        async (query) => {
          const rows = await query(chunk, []);
          for (const _ of rows) seen();
          return rows.length;
        },
        () => true,
      ),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await readers.close();
    },
  };
}

const oneRow: ScriptedAnswer = { kind: 'rows', rows: [[row]] };

function errorOf(code: string): ScriptedAnswer {
  return { kind: 'error', fields: ['SERROR', 'VERROR', `C${code}`, 'Mnot now'], ends: false };
}

void describe('reads of several statements in one snapshot', () => {
  it('send their first statement before the begin is answered', async () => {
    await using script = await readersOver({
      [begin]: () => ({ kind: 'silence' }),
      [chunk.text]: () => ({ kind: 'silence' }),
    });
    const read = assert.rejects(script.read(), StoreUnavailableError);
    await until(() => script.server.statements.includes(chunk.text));
    assert.deepEqual(script.server.statements, [begin, chunk.text]);
    await script.server[Symbol.asyncDispose]();
    await read;
  });

  it('return no rows of a statement whose begin was refused', async () => {
    await using script = await readersOver({ [begin]: () => errorOf('53200') });
    let rows = 0;
    await assert.rejects(
      script.read(() => (rows += 1)),
      /not now/,
    );
    assert.equal(rows, 0);
    assert.ok(script.server.statements.includes(chunk.text));
  });

  it('begin again on another connection when the begin was refused for a while', async () => {
    let begins = 0;
    await using script = await readersOver({
      [begin]: () => {
        begins += 1;
        return begins === 1 ? errorOf('57P01') : undefined;
      },
    });
    let rows = 0;
    assert.equal(await script.read(() => (rows += 1)), 1);
    assert.deepEqual([rows, script.opened()], [1, 2]);
  });

  it('do not wait for the end of their transaction', async () => {
    await using script = await readersOver({ commit: () => ({ kind: 'silence' }) });
    assert.equal(await script.read(), 1);
    await until(() => script.server.statements.includes('commit'));
    const next = assert.rejects(script.read(), StoreUnavailableError);
    // A read that began before the answer could see the snapshot of the one before.
    await turn();
    assert.deepEqual(script.server.statements, [begin, chunk.text, 'commit']);
    await script.server[Symbol.asyncDispose]();
    await next;
  });

  it('use no connection further whose transaction could not be ended', async () => {
    await using script = await readersOver({ commit: () => errorOf('57014') });
    assert.equal(await script.read(), 1);
    assert.equal(await script.read(), 1);
    assert.equal(script.opened(), 2);
  });
});
