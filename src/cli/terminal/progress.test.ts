import assert from 'node:assert/strict';
import { it } from 'node:test';
import { showProgress } from './progress.js';

function terminal() {
  const written: string[] = [];
  return { written, stream: { isTTY: true, write: (text: string) => written.push(text) } };
}

void it('draws nothing for work that is short', () => {
  const { written, stream } = terminal();
  const report = showProgress({ stream, share: () => 0.5, facts: () => [], quietMs: 600_000 });
  report.clear();
  report.stop();
  assert.deepEqual(written, []);
});

void it('draws a bar that makes room for lines and goes in the end', () => {
  const { written, stream } = terminal();
  const report = showProgress({ stream, share: () => 0.5, facts: () => ['1 MiB', '2/s'] });
  report.line('a line\u001b');
  report.stop();
  const [bar = '', clear, line, ...rest] = written;
  assert.match(bar, /█{20}░{20} 50%  1 MiB  2\/s$/);
  assert.deepEqual([clear, line, rest], ['\r\x1b[K', 'a line\\x1b\n', []]);
});

void it('draws what is done where nobody knows how much there is', () => {
  const { written, stream } = terminal();
  const report = showProgress({ stream, share: undefined, facts: () => ['7 blobs', '2/s'] });
  report.stop();
  assert.deepEqual(written, ['\r\x1b[K7 blobs  2/s', '\r\x1b[K']);
});
