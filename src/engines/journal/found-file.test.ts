import assert from 'node:assert/strict';
import { it } from 'node:test';
import { chanceBytes, encodeFileHead, secretOf } from './file-head.js';
import { readFoundFile } from './found-file.js';
import { encodeFrame } from './frame.js';

const chance = Buffer.alloc(chanceBytes, 7);

function fileOfTwoFrames(): Buffer {
  const predecessor = { generation: 0, secret: 0 };
  const head = encodeFileHead({ number: 1, generation: 1, firstSequence: 1, predecessor, chance });
  const changes = [{ key: Buffer.from('key'), value: Buffer.from('value'), version: 1 }];
  const frames = [1, 2].map(
    (sequence) =>
      encodeFrame({ kind: 'changes', sequence, lastVersion: 1, changes }, secretOf({ chance }))
        .bytes,
  );
  return Buffer.concat([head, ...frames, head]);
}

void it('leaves out the changes that the base has, and keeps nothing of a file without others', () => {
  const content = fileOfTwoFrames();
  const found = (appliedUpTo: number) =>
    readFoundFile('file', content, { checks: true, appliedUpTo });
  const kept = (appliedUpTo: number) =>
    found(appliedUpTo)?.frames.map(({ sequence, changes }) => [sequence, changes.length]);
  assert.deepEqual(kept(0), [
    [1, 1],
    [2, 1],
  ]);
  assert.deepEqual(kept(1), [
    [1, 0],
    [2, 1],
  ]);
  const head = found(2)?.head;
  assert.ok(head !== undefined && chance.equals(head.chance));
  assert.notEqual(head.chance.buffer, content.buffer);
});
