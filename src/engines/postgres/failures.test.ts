import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseError } from 'pg';
import { failureOf, NotDurableError, SessionClosedError, type FailureKind } from './failures.js';

/** An error as the database or a pooler before it reports one. */
function told(code: string, severity = 'ERROR'): DatabaseError {
  const error = new DatabaseError('a message', 0, 'error');
  return Object.assign(error, { code, severity });
}

const kinds: Readonly<Record<FailureKind, readonly unknown[]>> = {
  lost: [
    new Error('Connection terminated unexpectedly'),
    // Connection exceptions of a pooler, whose connection to the server may end behind a commit.
    ...['08000', '08003', '08006', '08007', '08P01'].map((code) => told(code)),
    told('40003'),
    // The end of the server, or of its process, by an administrator or by a limit. A severity may
    // be told in another language alone, or be that of a pooler.
    ...['57P01', '57P02', '57P03', '57P04', '57P05', '25P03', '25P04'].flatMap((code) =>
      ['FATAL', 'ВАЖНО', 'ERROR'].map((severity) => told(code, severity)),
    ),
    // A log that cannot be synced at a commit ends the server, which may find the commit there.
    ...['53100', '53200', '58030', 'XX000', 'XX001', 'XX002'].flatMap((code) =>
      ['FATAL', 'PANIC', 'ВАЖНО', 'ПАНИКА', 'PANIK', '致命错误', 'error', ''].map((severity) =>
        told(code, severity),
      ),
    ),
    new DatabaseError('received invalid response: 7f', 5, 'error'),
  ],
  away: [told('25006'), new NotDurableError()],
  again: [told('40001'), told('40P01'), told('55P03')],
  'session-closed': [told('TB001'), new SessionClosedError()],
  refused: ['53100', '58030', 'XX000', '42501', '57014', '25P02'].map((code) => told(code)),
};

describe('a failure of the database', () => {
  for (const [kind, errors] of Object.entries(kinds)) {
    it(`is told as what it says of the statement: ${kind}`, () => {
      for (const error of errors) assert.equal(failureOf(error), kind, JSON.stringify(error));
    });
  }
});
