import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shown } from './list.js';

void describe('the list of partitions', () => {
  void it('says below its tables what is wrong with a store, and why an operation waits', () => {
    const text = shown({
      ranges: [],
      stores: [
        {
          store: 'b',
          state: 'draining',
          location: '/mnt/b',
          ranges: 1,
          isHome: false,
          problem: 'Range 4 could not be moved.',
        },
      ],
      operations: [
        { operation: 7, state: 'running', kind: 'move', problem: "Not open: 'd'.\u001b[31m" },
        { operation: 8, state: 'running', kind: 'split' },
      ],
    });
    const [, , , problems = ''] = text.split('\n\n');
    const [ofStore, ofOperation, ...others] = problems.split('\n');
    assert.equal(ofStore, 'Range 4 could not be moved.');
    assert.match(ofOperation ?? '', /^Operation 7 does not go on here: Not open: 'd'\./);
    assert.ok(!text.includes('\u001b'), 'no control characters');
    assert.deepEqual(others, []);
  });

  void it('says how far a move is that this process carries out', () => {
    const moving = { state: 'running', kind: 'move', step: 'copy' } as const;
    const text = shown({
      ranges: [],
      stores: [],
      operations: [
        { operation: 7, ...moving, bytesCopied: 5_000_000, bytesTotal: 20_000_000 },
        { operation: 8, ...moving, bytesCopied: 1_000_000 },
        { operation: 9, ...moving },
      ],
    });
    const lines = text.split('\n').map((line) => line.trimEnd());
    assert.match(lines.find((line) => line.includes('operation')) ?? '', /copied$/);
    assert.match(
      lines.find((line) => line.trimStart().startsWith('7')) ?? '',
      /copy +4\.77 MiB of 19\.1 MiB$/,
    );
    assert.match(lines.find((line) => line.trimStart().startsWith('8')) ?? '', /copy +977 KiB$/);
    assert.match(lines.find((line) => line.trimStart().startsWith('9')) ?? '', /copy$/);
  });
});
