import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command, CommanderError, Help } from 'commander';
import { lenientItemNames } from '../../http/pipeline/leniency.js';
import {
  lenientItemsText,
  strictnessFields,
  strictnessLines,
  strictnessOptions,
  strictnessSettings,
  type StrictnessFlags,
} from './strictness-options.js';

function flagsOf(...args: string[]): StrictnessFlags {
  const command = new Command('start').exitOverride().configureOutput({
    writeErr: () => undefined,
  });
  for (const option of strictnessOptions()) command.addOption(option);
  return command.parse(args, { from: 'user' }).opts<StrictnessFlags>();
}

const settingsOf = (...args: string[]) => strictnessSettings(flagsOf(...args));

describe('options of strictness', () => {
  it('say nothing when they are not given', () => {
    assert.deepEqual(settingsOf(), {});
    assert.deepEqual(strictnessLines({}), []);
    assert.deepEqual(strictnessFields({}), {});
  });

  it('allow everything, or the items that are listed', () => {
    assert.deepEqual(settingsOf('--lenient'), { lenient: true });
    assert.deepEqual(settingsOf('--lenient', 'top,clock'), { lenient: ['clock', 'top'] });
    assert.deepEqual(settingsOf('--lenient', 'top, clock,'), { lenient: ['clock', 'top'] });
    for (const wrong of ['tops', 'top,all', 'Top']) {
      assert.throws(
        () => flagsOf('--lenient', wrong),
        (error) =>
          error instanceof CommanderError &&
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
      assert.deepEqual(settings, { tableDeleteDelayMs: ms }, text);
    }
    for (const wrong of ['', '11m', '601s', '600001ms', '1h', '-1', '1.5s', 's', '40 s']) {
      assert.throws(
        () => flagsOf('--simulate-table-delete-delay', wrong),
        /at most 10m, written like 40s/,
        wrong,
      );
    }
  });

  it('take a seed of pages, or choose one and keep it', () => {
    assert.deepEqual(settingsOf('--paging-test-mode', '42'), { pagingTestMode: { seed: '42' } });
    const chosen = settingsOf('--paging-test-mode');
    assert.match(JSON.stringify(chosen), /^\{"pagingTestMode":\{"seed":"\d+"\}\}$/);
    assert.deepEqual(settingsOf('--paging-test-mode'), chosen);
  });

  it('appear in the banner and in the log', () => {
    const args =
      '--lenient top,clock --strict-api-versions --simulate-table-delete-delay 40s ' +
      '--paging-test-mode 42';
    const settings = settingsOf(...args.split(' '));
    assert.deepEqual(strictnessLines(settings), [
      '  Lenient     clock, top',
      '  Versions    only those of the cloud',
      '  Deleted     names stay taken for 40000 ms',
      '  Paging      test mode, seed 42',
    ]);
    assert.deepEqual(Object.keys(strictnessFields(settings)), [
      'lenient',
      'apiVersions',
      'deletedTables',
      'paging',
    ]);
  });
});
