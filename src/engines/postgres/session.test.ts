import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import type { manualTimers } from '../../../test/support/manual-timers.js';
import { primaryOver } from '../../../test/support/primary-over.js';
import {
  int8Field,
  noRows,
  scriptedPostgres,
  type ScriptedAnswer,
} from '../../../test/support/scripted-postgres.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemRandomness } from '../../base/randomness.js';
import { CommitUnknownError, StoreWriteError } from '../../kv/errors.js';
import { Acknowledgements } from './acknowledgements.js';
import type { BatchCall } from './commit-form.js';
import { functionForm } from './function-form.js';
import { decodeOutcomes, encodeOutcomes, type Outcome } from './outcomes.js';
import { bytesOf } from './rows.js';
import { Session } from './session.js';
import { statementsFor } from './statements.js';

const statements = statementsFor('tabularium');
const applied: readonly Outcome[] = [{ kind: 'result', result: { ok: true, version: 7 } }];
const batchText = 'select batch()';

const call: BatchCall = async (connection) => {
  const [row] = await connection.query({ name: 'batch', text: batchText }, []);
  return decodeOutcomes(bytesOf(row?.[0]));
};

/** A session whose server answers a batch as it is told, and which a row of the session follows. */
async function sessionOver(script: {
  readonly batch: () => ScriptedAnswer;
  readonly row: () => ScriptedAnswer;
  readonly version?: string;
}) {
  const answerTo = (statement: string): ScriptedAnswer => {
    switch (statement) {
      case batchText:
        return script.batch();
      case statements.closeSession.text:
        return script.row();
      case statements.lastVersion.text:
        return { kind: 'rows', rows: [[int8Field(0)]] };
      default:
        return noRows;
    }
  };
  const server = await scriptedPostgres(answerTo, undefined, script.version);
  const { primary, timers, clock } = primaryOver([server.address]);
  const acknowledgements = new Acknowledgements({
    statements,
    clock,
    accepts: false,
    onLoss: () => assert.fail('nothing is lost'),
  });
  const form = functionForm(statements);
  const randomness = systemRandomness;
  const parts = { primary, statements, form, clock, timers, randomness, acknowledgements };
  const count = (text: string) => server.statements.filter((each) => each === text).length;
  return {
    session: new Session(parts),
    /** How often the outcome of a batch was asked for. */
    asked: () => count(statements.closeSession.text),
    timers,
    async [Symbol.asyncDispose]() {
      primary.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** What a pooler says that has lost its server, in its own words. */
const fields = ['SERROR', 'C58000', 'Mthe server went away'];

describe('a batch behind which a server tells an error', () => {
  it('is asked for where the connection ends, whatever the error says', async (t) => {
    standStill(t);
    await using over = await sessionOver({
      batch: () => ({ kind: 'error', fields, ends: true }),
      row: () => ({ kind: 'rows', rows: [[int8Field(1), encodeOutcomes(applied)]] }),
    });
    assert.deepEqual(await over.session.apply(call), applied);
  });

  it('was refused where the connection goes on', async (t) => {
    standStill(t);
    await using over = await sessionOver({
      batch: () => ({ kind: 'error', fields, ends: false }),
      row: () => assert.fail('nobody asks what is known'),
    });
    await assert.rejects(over.session.apply(call), StoreWriteError);
  });
});

describe('a batch whose connection is lost', () => {
  it('is told to be unknown after 30 s in all, where a server lets in and tells nothing', async (t) => {
    standStill(t);
    await using over = await sessionOver({
      batch: () => ({ kind: 'end' }),
      row: () => ({ kind: 'silence' }),
    });
    const unknown = assert.rejects(over.session.apply(call), CommitUnknownError);
    while (over.asked() === 0) await turn();
    // A deadline is counted in four steps. One of an answer, which is longer, is not over then.
    for (let step = 0; step < 4; step += 1) over.timers.fire(30_000 / 4);
    await unknown;
    for (let turns = 0; turns < 100; turns += 1) await turn();
    assert.equal(over.asked(), 1);
    assert.equal(over.timers.waiting, 0);
  });

  it('is asked for again on another connection when the first one is lost as well', async (t) => {
    standStill(t);
    let losses = 2;
    await using over = await sessionOver({
      batch: () => ({ kind: 'end' }),
      row: () => {
        losses -= 1;
        if (losses >= 0) return { kind: 'end' };
        return { kind: 'rows', rows: [[int8Field(1), encodeOutcomes(applied)]] };
      },
    });
    const outcomes = over.session.apply(call);
    await passPauses(outcomes, over);
    assert.deepEqual(await outcomes, applied);
    assert.equal(over.asked(), 3);
  });
});

describe('a batch behind which a server warns', () => {
  const encoded = encodeOutcomes(applied);
  const batch = () => ({ kind: 'rows', rows: [[encoded]], warns: true }) as const;

  it('is asked for until an answer comes without a warning', async (t) => {
    standStill(t);
    let warnings = 2;
    await using over = await sessionOver({
      batch,
      row: () => {
        warnings -= 1;
        return { kind: 'rows', rows: [[int8Field(1), encoded]], warns: warnings >= 0 };
      },
    });
    const outcomes = over.session.apply(call);
    await passPauses(outcomes, over);
    assert.deepEqual(await outcomes, applied);
    assert.equal(over.asked(), 3);
  });

  it('is told to be unknown when every answer comes with a warning', async (t) => {
    standStill(t);
    await using over = await sessionOver({
      batch,
      row: () => ({ kind: 'rows', rows: [[int8Field(1), encoded]], warns: true }),
    });
    const unknown = assert.rejects(over.session.apply(call), CommitUnknownError);
    await passPauses(unknown, over);
    await unknown;
  });

  it('is applied where the product has no standbys', async (t) => {
    standStill(t);
    await using over = await sessionOver({
      batch,
      row: () => assert.fail('nobody asks what is known'),
      version: 'CockroachDB CCL v24.1.0',
    });
    assert.deepEqual(await over.session.apply(call), applied);
  });
});

/** Ends pauses between attempts, which are shorter than any step of a deadline, for some work. */
async function passPauses(
  work: Promise<unknown>,
  { timers }: { readonly timers: ReturnType<typeof manualTimers> },
): Promise<void> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  void work.then(end, end);
  while (!ended.signal.aborted) {
    await turn();
    timers.fire(400);
  }
}

/** The limit of the package for a new connection must not end one on a busy machine. */
function standStill({ mock }: TestContext): void {
  mock.timers.enable({ apis: ['setTimeout'] });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
