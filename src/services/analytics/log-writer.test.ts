import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryLogs } from '../../../test/support/memory-logs.js';
import type { LogMetadata } from './log-sink.js';
import { logWaitingBytesMax, LogWriter, type LogEntry } from './log-writer.js';

const hourMicros = Date.UTC(2011, 6, 31, 18) * 1000;
const begun = hourMicros + 3_599_000_000;

interface Entry extends Partial<Pick<LogEntry, 'account' | 'service' | 'hourMicros'>> {
  readonly metadata?: Partial<LogMetadata>;
}

function entry(lines: string, { metadata, ...more }: Entry = {}): LogEntry {
  return {
    account: 'acct',
    service: 'table',
    hourMicros,
    metadata: {
      types: ['read'],
      startMicros: begun,
      endMicros: begun,
      version: '1.0',
      ...metadata,
    },
    count: lines.split('\n').length - 1,
    lines: Buffer.from(lines),
    ...more,
  };
}

describe('writing logs (blob-service §21.2)', () => {
  it('puts lines into the log of the hour in which their request ended', async () => {
    const sink = memoryLogs();
    const writer = new LogWriter({ logs: sink });
    writer.add(entry('a\n'));
    writer.add(entry('b\n', { metadata: { types: ['delete'], startMicros: begun - 5 } }));
    writer.add(entry('c\n', { hourMicros: hourMicros + 3_600_000_000 }));
    writer.add(entry('d\n', { service: 'queue' }));
    writer.add(entry('e\n', { account: 'other' }));
    await writer.write();
    assert.deepEqual(
      Array.from(sink.logs, ([name, { text }]) => [name, text]),
      [
        ['acct:table/2011/07/31/1800/000000.log', 'a\nb\n'],
        ['acct:table/2011/07/31/1900/000000.log', 'c\n'],
        ['acct:queue/2011/07/31/1800/000000.log', 'd\n'],
        ['other:table/2011/07/31/1800/000000.log', 'e\n'],
      ],
    );
    const log = sink.logs.get('acct:table/2011/07/31/1800/000000.log');
    const metadata = {
      types: ['read', 'delete'],
      startMicros: begun - 5,
      endMicros: begun,
      version: '1.0',
    };
    assert.deepEqual(log?.metadata, metadata);
    writer.add(entry('f\n', { metadata: { types: ['write'] } }));
    await writer.write();
    const grown = sink.logs.get('acct:table/2011/07/31/1800/000000.log');
    assert.equal(grown?.text, 'a\nb\nf\n');
    const types = ['read', 'write', 'delete'];
    assert.deepEqual(grown.metadata, { ...metadata, types });
  });

  it('puts lines of two versions into two logs, also when another process began them', async () => {
    const sink = memoryLogs();
    const writer = new LogWriter({ logs: sink });
    const [old, now] = [{ metadata: { version: '1.0' } }, { metadata: { version: '2.0' } }];
    writer.add(entry('a\n', old));
    writer.add(entry('b\n', now));
    await writer.write();
    const restarted = new LogWriter({ logs: sink });
    sink.failure = new Error('away');
    restarted.add(entry('c\n', now));
    restarted.add(entry('d\n', old));
    await assert.rejects(restarted.write(), sink.failure);
    sink.failure = undefined;
    restarted.add(entry('e\n', now));
    await restarted.write();
    assert.deepEqual(
      Array.from(sink.logs, ([name, { text, metadata }]) => [
        name.slice(-10),
        text,
        metadata.version,
      ]),
      [
        ['000000.log', 'a\nd\n', '1.0'],
        ['000001.log', 'b\nc\ne\n', '2.0'],
      ],
    );
  });

  it('begins another log when one is large', async () => {
    const sink = memoryLogs();
    const writer = new LogWriter({ logs: sink });
    const line = `${'x'.repeat(3 * 1024 * 1024)}\n`;
    for (let time = 0; time < 4; time += 1) {
      writer.add(entry(line));
      await writer.write();
    }
    const numbers = [...sink.logs.keys()].map((name) => name.slice(-10));
    assert.deepEqual(numbers, ['000000.log', '000001.log']);
  });

  it('appends later what a sink did not take', async () => {
    const sink = memoryLogs();
    const writer = new LogWriter({ logs: sink });
    sink.failure = new Error('full');
    writer.add(entry('a\n'));
    await assert.rejects(writer.write(), sink.failure);
    writer.add(entry('b\n'));
    sink.failure = undefined;
    await writer.write();
    assert.deepEqual(
      Array.from(sink.logs.values(), ({ text }) => text),
      ['a\nb\n'],
    );
  });

  it('holds a bounded number of bytes, and counts the lines that it drops', async () => {
    const sink = memoryLogs();
    const writer = new LogWriter({ logs: sink });
    sink.failure = new Error('full');
    const line = `${'x'.repeat(1024 * 1024 - 1)}\n`;
    for (let time = 0; time < 9; time += 1) writer.add(entry(line));
    writer.add(entry('a\nb\nc\n'));
    assert.equal(writer.bytes, logWaitingBytesMax);
    assert.equal(writer.takeDropped(), 4);
    const failed = writer.write();
    writer.add(entry(line));
    await assert.rejects(failed, sink.failure);
    // Lines that arrived meanwhile have displaced those of the failed write.
    assert.ok(writer.bytes <= logWaitingBytesMax);
    assert.equal(writer.takeDropped(), 8);
    assert.equal(writer.takeDropped(), 0);
  });
});
