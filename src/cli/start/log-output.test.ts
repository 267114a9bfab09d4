import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Timers } from '../../base/async/timers.js';
import { LogOutput, waitingBytesMax } from './log-output.js';
import type { LogTarget } from './log-target.js';

/** The result of a write: the number of bytes written, all of them, or an error. */
type Answer = number | 'all' | 'EAGAIN' | 'ENOSPC' | 'EPIPE';

/** A target whose writes complete when the test says so. */
class HandTarget implements LogTarget {
  readonly writeBytesMax: number;
  text = '';
  reopened = 0;
  #pending: ((answer: Answer) => void) | undefined;

  constructor(writeBytesMax = 100) {
    this.writeBytesMax = writeBytesMax;
  }

  write(bytes: Buffer, done: Parameters<LogTarget['write']>[1]): void {
    assert.equal(this.#pending, undefined, 'one write at a time');
    this.#pending = (answer) => {
      this.#pending = undefined;
      if (typeof answer === 'string' && answer !== 'all') {
        done(Object.assign(new Error(answer), { code: answer }), 0);
        return;
      }
      const written = answer === 'all' ? bytes.length : answer;
      this.text += bytes.toString('utf8', 0, written);
      done(undefined, written);
    };
  }

  reopen(): boolean {
    assert.equal(this.#pending, undefined, 'not while it writes');
    this.reopened += 1;
    return true;
  }

  get isAsked(): boolean {
    return this.#pending !== undefined;
  }

  answer(answer: Answer): void {
    assert.ok(this.#pending !== undefined);
    this.#pending(answer);
  }

  answerAll(): void {
    while (this.isAsked) this.answer('all');
  }
}

function setUp(target = new HandTarget()) {
  let waiting: (() => void) | undefined;
  const timers: Timers = {
    start: (_, callback, argument) => {
      waiting = () => callback(argument);
      return { close: () => (waiting = undefined) };
    },
  };
  const output = new LogOutput({
    target,
    timers,
    dropped: (lines) => output.write(`dropped ${lines}\n`),
  });
  return { output, target, retry: () => waiting?.() };
}

/** Writes lines of 1,024 bytes, more than the buffer holds; returns how many it does hold. */
function fill(output: LogOutput): number {
  const line = `${'x'.repeat(1023)}\n`;
  for (let at = 0; at < (2 * waitingBytesMax) / 1024; at += 1) output.write(line);
  return waitingBytesMax / 1024;
}

void describe('output of the log', () => {
  void it('writes whole lines in order, some in one write', () => {
    const { output, target } = setUp(new HandTarget(10));
    for (const line of ['a\n', 'bbbb\n', 'cccc\n', 'd\n']) output.write(line);
    target.answer('all');
    assert.equal(target.text, 'a\n');
    target.answer('all');
    assert.equal(target.text, 'a\nbbbb\ncccc\n');
    target.answer('all');
    assert.equal(target.text, 'a\nbbbb\ncccc\nd\n');
    assert.ok(!target.isAsked);
  });

  void it('goes on in the middle of a line that was written in part', () => {
    const { output, target, retry } = setUp();
    output.write('first\n');
    output.write('second\n');
    target.answer(3);
    target.answer('ENOSPC');
    assert.ok(!target.isAsked, 'and waits before it tries again');
    retry();
    target.answerAll();
    assert.equal(target.text, 'first\nsecond\n');
  });

  for (const failure of ['ENOSPC', 'EPIPE', 'EAGAIN'] as const) {
    void it(`bounds what waits, and says what it dropped, after ${failure}`, () => {
      const { output, target, retry } = setUp();
      output.write('first\n');
      target.answer(failure);
      const kept = fill(output) - 1;
      for (let failures = 0; failures < 3; failures += 1) {
        retry();
        target.answer(failure);
      }
      assert.equal(target.text, '');
      retry();
      target.answerAll();
      output.write('later\n');
      target.answerAll();
      const lines = target.text.trimEnd().split('\n');
      assert.equal(lines.filter((line) => line.startsWith('x')).length, kept);
      assert.deepEqual(lines.slice(-2), [`dropped ${2 * (kept + 1) - kept}`, 'later']);
    });
  }

  void it('is flushed when all is written, and when the target has failed', async () => {
    const { output, target, retry } = setUp();
    await output.flush();
    output.write('a\n');
    let isFlushed = false;
    const flushed = output.flush().then(() => (isFlushed = true));
    target.answer('EAGAIN');
    await Promise.resolve();
    assert.ok(!isFlushed, 'a full pipe may be read soon');
    retry();
    target.answer('all');
    await flushed;
    output.write('b\n');
    const failed = output.flush();
    target.answer('ENOSPC');
    await failed;
  });

  void it('opens its target again between two writes, never in the middle of a line', () => {
    const { output, target, retry } = setUp();
    output.write('first\n');
    output.reopen();
    assert.equal(target.reopened, 0);
    target.answer('all');
    assert.equal(target.reopened, 1);
    output.write('broken\n');
    target.answer(3);
    target.answer('ENOSPC');
    output.reopen();
    output.write('next\n');
    retry();
    target.answerAll();
    assert.equal(target.text, 'first\nbronext\ndropped 1\n');
  });
});
