import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mayBeOfCommit, type ToldNotice } from './commit-warning.js';

const wait = { file: 'syncrep.c', routine: 'SyncRepWaitForLSN' };

const counting: Readonly<Record<string, ToldNotice>> = {
  'a wait that was cancelled': { code: '01000', ...wait },
  'a wait whose process is ended': { code: '57P01', ...wait },
  'the end of a process, from wherever': { code: '57P01', file: 'postgres.c', routine: 'Other' },
  'a file with its folder': { code: '01000', file: 'src/syncrep.c', routine: 'Other' },
  'a wait in another file': { code: '01000', file: 'replication.c', routine: 'SyncRepWait' },
  'a warning without a place': { code: '01000' },
  'a warning whose place is cut': { code: '01000', file: 'pl_exec.c' },
};

const innocent: Readonly<Record<string, ToldNotice>> = {
  'a notice': { code: '00000' },
  'RAISE WARNING of a function': { code: '01000', file: 'pl_exec.c', routine: 'exec_stmt_raise' },
  'RAISE WARNING with a code': { code: 'TB999', file: 'pl_exec.c', routine: 'exec_stmt_raise' },
  'a warning of an extension': { code: '01000', file: 'audit.c', routine: 'log_statement' },
  'a collation of another version': { code: '01000', file: 'pg_locale.c', routine: 'check' },
};

describe('what the database tells behind a commit', () => {
  for (const [what, notice] of Object.entries(counting)) {
    it(`makes its outcome unknown: ${what}`, () => assert.ok(mayBeOfCommit(notice)));
  }
  for (const [what, notice] of Object.entries(innocent)) {
    it(`says nothing of it: ${what}`, () => assert.equal(mayBeOfCommit(notice), false));
  }
});
