import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ReadEpochs } from './read-epochs.js';

/** A read that ends when it is told to. */
function reading(epochs: ReadEpochs) {
  let end = (): void => undefined;
  let fail = (): void => undefined;
  const held = new Promise<string>((resolve, reject) => {
    end = () => resolve('read');
    fail = () => reject(new Error('damaged'));
  });
  return { read: epochs.during(() => held), end, fail };
}

/** Whether a promise has resolved when everything that is ready has run. */
function watched(promise: Promise<void>): () => Promise<boolean> {
  let isOver = false;
  void promise.then(() => (isOver = true));
  return async () => {
    await setImmediate();
    return isOver;
  };
}

describe('epochs of reads', () => {
  it('are over at once when nobody reads', async () => {
    const epochs = new ReadEpochs();
    await epochs.over();
    assert.equal(await epochs.during(() => Promise.resolve(1)), 1);
    await epochs.over();
  });

  it('last until every read that had begun is over, and not for later ones', async () => {
    const epochs = new ReadEpochs();
    const [first, second] = [reading(epochs), reading(epochs)];
    const isOver = watched(epochs.over());
    const later = reading(epochs);
    assert.equal(await isOver(), false);
    first.end();
    assert.equal(await isOver(), false);
    second.end();
    assert.equal(await isOver(), true);
    assert.equal(await first.read, 'read');
    const isLaterOver = watched(epochs.over());
    assert.equal(await isLaterOver(), false);
    later.end();
    assert.equal(await isLaterOver(), true);
  });

  it('end with reads that fail, whose error the reader gets', async () => {
    const epochs = new ReadEpochs();
    const failing = reading(epochs);
    const thrown = assert.rejects(failing.read, /damaged/);
    const isOver = watched(epochs.over());
    failing.fail();
    await thrown;
    assert.equal(await isOver(), true);
    const throwing = epochs.during(() => {
      throw new Error('at once');
    });
    await assert.rejects(throwing, /at once/);
    await epochs.over();
  });

  it('that ended before they were asked for are waited for by nobody', async () => {
    const epochs = new ReadEpochs();
    const early = reading(epochs);
    early.end();
    await early.read;
    const isOver = watched(epochs.over());
    assert.equal(await isOver(), true);
  });
});
