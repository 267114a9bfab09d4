import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { writeOnePieceAtOnce } from './one-piece-writes.js';

/** The writes of a stream when these pieces are written to it in one turn. */
async function written(pieces: readonly string[]): Promise<(string | string[])[]> {
  const calls: (string | string[])[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(piece: string, encoding, done) {
      calls.push(`${piece} ${encoding}`);
      done();
    },
    writev(all, done) {
      calls.push(all.map(({ chunk, encoding }) => `${String(chunk)} ${encoding}`));
      done();
    },
  });
  writeOnePieceAtOnce(stream);
  stream.cork();
  const ends = pieces.map(
    (piece) => new Promise<void>((resolve) => stream.write(piece, 'latin1', () => resolve())),
  );
  stream.uncork();
  await Promise.all(ends);
  return calls;
}

describe('a connection', () => {
  it('writes a single piece beside empty ones by the call for one piece', async () => {
    assert.deepEqual(await written(['head\xe9', '']), ['head\xe9 latin1']);
    assert.deepEqual(await written(['', 'body', '']), ['body latin1']);
  });

  it('writes several pieces together, in their order', async () => {
    assert.deepEqual(await written(['a', 'b', '']), [['a latin1', 'b latin1', ' latin1']]);
    assert.deepEqual(await written(['', '']), [[' latin1', ' latin1']]);
  });
});
