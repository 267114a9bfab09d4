import {
  mergedMetadata,
  type LogMetadata,
  type LogSink,
} from '../../src/services/analytics/log-sink.js';

/** Logs in memory, by account and name. */
export interface MemoryLogs extends LogSink {
  readonly opened: ReadonlySet<string>;
  readonly logs: ReadonlyMap<string, { readonly text: string; readonly metadata: LogMetadata }>;
  /** Every call fails with it while it is set. */
  failure: Error | undefined;
}

export function memoryLogs(): MemoryLogs {
  const opened = new Set<string>();
  const logs = new Map<string, { text: string; metadata: LogMetadata }>();
  return {
    opened,
    logs,
    failure: undefined,
    open(account) {
      opened.add(account);
      return Promise.resolve();
    },
    append(account, name, pieces, metadata) {
      if (this.failure !== undefined) return Promise.reject(this.failure);
      const key = `${account}:${name}`;
      const old = logs.get(key);
      if (old !== undefined && old.metadata.version !== metadata.version) {
        return Promise.resolve({ kind: 'other-version' });
      }
      const text = (old?.text ?? '') + Buffer.concat(pieces).toString();
      logs.set(key, {
        text,
        metadata: old === undefined ? metadata : mergedMetadata(old.metadata, metadata),
      });
      return Promise.resolve({ kind: 'appended', bytes: Buffer.byteLength(text) });
    },
    deleteRange(account, { start, end }, entriesMax) {
      const keys = [...logs.keys()].filter(
        (key) => key >= `${account}:${start}` && key < `${account}:${end}`,
      );
      for (const key of keys.slice(0, entriesMax)) logs.delete(key);
      return Promise.resolve({
        deleted: Math.min(keys.length, entriesMax),
        more: keys.length > entriesMax,
      });
    },
  };
}
