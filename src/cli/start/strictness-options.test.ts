import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Help } from 'commander';
import { optionsOf } from '../../../test/support/start-settings.js';
import type { StrictnessOptions } from '../../app/index.js';
import { lenientItemNames } from '../../http/operations/request-rules.js';
import { UsageError } from '../terminal/failure.js';
import { lenientItemsText, strictnessFields, strictnessLines } from './strictness-options.js';

function settingsOf(...args: string[]): StrictnessOptions {
  return optionsOf(args);
}

describe('options of strictness', () => {
  it('say nothing when they are not given', () => {
    assert.deepEqual(strictnessFields(settingsOf()), {});
    assert.deepEqual(strictnessLines({}), []);
    assert.deepEqual(strictnessFields({}), {});
  });

  it('allow everything, or the items that are listed', () => {
    assert.equal(settingsOf('--lenient').lenient, true);
    assert.deepEqual(settingsOf('--lenient', 'top,clock').lenient, ['top', 'clock']);
    assert.deepEqual(settingsOf('--lenient', 'top, clock,').lenient, ['top', 'clock']);
    for (const wrong of ['tops', 'top,all', 'Top']) {
      assert.throws(
        () => settingsOf('--lenient', wrong),
        (error) =>
          error instanceof UsageError &&
          lenientItemNames.every((name) => error.message.includes(name)),
      );
    }
  });

  it('are shown with their items', () => {
    for (const name of lenientItemNames)
      assert.ok(lenientItemsText(new Help()).includes(`\n  ${name} `));
  });

  it('read times of deletion with their units', () => {
    const times: readonly [text: string, ms: number][] = [
      ['40s', 40_000],
      ['40', 40_000],
      ['500ms', 500],
      ['1m', 60_000],
      ['10m', 600_000],
      ['0', 0],
    ];
    for (const [text, ms] of times) {
      const settings = settingsOf('--simulate-table-delete-delay', text);
      assert.equal(settings.tableDeleteDelayMs, ms, text);
    }
    for (const wrong of ['', '11m', '601s', '600001ms', '1h', '-1', '1.5s', 's', '40 s']) {
      assert.throws(
        () => settingsOf('--simulate-table-delete-delay', wrong),
        /^UsageError: --simulate-table-delete-delay must be at most 10m: seconds, or a number with/,
        wrong,
      );
    }
  });

  it('take a seed of pages, or choose one and keep it', () => {
    const modeOf = (...args: string[]) => settingsOf('--paging-test-mode', ...args).pagingTestMode;
    assert.deepEqual(modeOf('42'), { seed: '42' });
    const chosen = modeOf();
    assert.match(JSON.stringify(chosen), /^\{"seed":"\d+"\}$/);
    assert.deepEqual(modeOf(), chosen);
  });

  it('appear in the banner and in the log', () => {
    const args =
      '--lenient top,clock --strict-api-versions --simulate-table-delete-delay 40s ' +
      '--simulate-container-delete-delay 500ms --paging-test-mode 42';
    const settings = settingsOf(...args.split(' '));
    assert.deepEqual(strictnessLines(settings), [
      '  Lenient     clock, top',
      '  Versions    only those of the cloud',
      '  Deleted     names of tables stay taken for 40000 ms',
      '  Deleted     names of containers stay taken for 500 ms',
      '  Paging      test mode, seed 42',
    ]);
    assert.deepEqual(Object.keys(strictnessFields(settings)), [
      'lenient',
      'apiVersions',
      'deletedTables',
      'deletedContainers',
      'paging',
    ]);
  });
});
