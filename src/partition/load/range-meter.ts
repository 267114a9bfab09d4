import type { Bytes } from '../../base/bytes.js';
import type { Randomness } from '../../base/randomness.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import { Rate } from './rate.js';

/** The calls of one process to a range. */
export interface MeasuredRange {
  readonly id: number;
  readonly readsPerSecond: number;
  readonly writesPerSecond: number;
  /** Calls a second, averaged over a quarter of an hour. */
  readonly longCallsPerSecond: number;
  /** Bytes of keys and values a second that calls have read. */
  readonly bytesReadPerSecond: number;
  readonly bytesWrittenPerSecond: number;
  /**
   * The time that calls took, in milliseconds a second. Divided by the calls a second, it is the
   * mean time of a call.
   */
  readonly callMsPerSecond: number;
  /** The partition prefixes of randomly sampled calls, in the order of the calls. */
  readonly accessed: readonly Bytes[];
}

export function callsPerSecond({ readsPerSecond, writesPerSecond }: MeasuredRange): number {
  return readsPerSecond + writesPerSecond;
}

/** The mean time of a call at its store, in milliseconds. */
export function meanCallMs(load: MeasuredRange): number {
  const calls = callsPerSecond(load);
  return calls === 0 ? 0 : load.callMsPerSecond / calls;
}

/** Calls of all ranges since the process began. */
export interface MeasuredCalls {
  readonly reads: number;
  readonly writes: number;
}

/** The windows of the averages, in milliseconds. */
const shortMs = 60_000;
const longMs = 900_000;
/** Calls of a range that are sampled between two measurements, at most. */
const drawnCalls = 32;
/** Ranges with fewer calls a second are forgotten. */
const forgottenBelow = 0.001;

/** A call that a store has answered. */
export interface MeteredCall {
  readonly kind: 'read' | 'write';
  /** A key of its partition, or the start of its interval. */
  readonly key: Bytes;
  /** Bytes of keys and values, read or written. */
  readonly bytes: number;
  readonly tookMs: number;
}

interface Meter {
  reads: number;
  writes: number;
  bytesRead: number;
  bytesWritten: number;
  tookMs: number;
  readonly bytesReadRate: Rate;
  readonly bytesWrittenRate: Rate;
  readonly timeRate: Rate;
  readonly readRate: Rate;
  readonly writeRate: Rate;
  readonly longRate: Rate;
  /** Calls since the last measurement, and a random sample of them. */
  seen: number;
  drawn: { readonly order: number; readonly key: Bytes }[];
}

/** Counts since the last measurement. */
const noCalls = { reads: 0, writes: 0, seen: 0, bytesRead: 0, bytesWritten: 0, tookMs: 0 };

/** Counts the calls that a front end sends to stores, by range. */
export class RangeMeter {
  readonly #meters = new Map<number, Meter>();
  readonly #byStore = new Map<string, { reads: number; writes: number }>();
  /** The state of a generator that is fast rather than good: it only samples calls. */
  #state: number;

  constructor(randomness: Randomness) {
    const [first = 1, second = 1, third = 1] = randomness.bytes(3);
    this.#state = (first << 16) | (second << 8) | third | 1;
  }

  /** Counts a call that has been answered. */
  note(range: { id: number; store: string }, { kind, key, bytes, tookMs }: MeteredCall): void {
    const meter = this.#meterOf(range.id);
    const ofStore = this.#storeOf(range.store);
    if (kind === 'read') {
      meter.reads += 1;
      meter.bytesRead += bytes;
      ofStore.reads += 1;
    } else {
      meter.writes += 1;
      meter.bytesWritten += bytes;
      ofStore.writes += 1;
    }
    meter.tookMs += tookMs;
    meter.seen += 1;
    // Reservoir sampling: every call has the same chance to stay in the sample.
    if (meter.drawn.length < drawnCalls) {
      meter.drawn.push({ order: meter.seen, key: Buffer.from(key) });
      return;
    }
    const place = this.#below(meter.seen);
    if (place < drawnCalls) meter.drawn[place] = { order: meter.seen, key: Buffer.from(key) };
  }

  /** By store: calls since the process began. */
  get callsByStore(): ReadonlyMap<string, MeasuredCalls> {
    return this.#byStore;
  }

  /** The loads since the last call of this method, which begins a new measurement. */
  takeLoads(elapsedMs: number): readonly MeasuredRange[] {
    const found: MeasuredRange[] = [];
    for (const [id, meter] of this.#meters) {
      meter.readRate.add(meter.reads, elapsedMs);
      meter.writeRate.add(meter.writes, elapsedMs);
      meter.longRate.add(meter.reads + meter.writes, elapsedMs);
      meter.bytesReadRate.add(meter.bytesRead, elapsedMs);
      meter.bytesWrittenRate.add(meter.bytesWritten, elapsedMs);
      meter.timeRate.add(meter.tookMs, elapsedMs);
      const longCallsPerSecond = meter.longRate.perSecond;
      const drawn = meter.drawn.toSorted((left, right) => left.order - right.order);
      meter.drawn = [];
      Object.assign(meter, noCalls);
      if (longCallsPerSecond < forgottenBelow) {
        this.#meters.delete(id);
        continue;
      }
      found.push({
        id,
        readsPerSecond: meter.readRate.perSecond,
        writesPerSecond: meter.writeRate.perSecond,
        longCallsPerSecond,
        bytesReadPerSecond: meter.bytesReadRate.perSecond,
        bytesWrittenPerSecond: meter.bytesWrittenRate.perSecond,
        callMsPerSecond: meter.timeRate.perSecond,
        accessed: drawn.flatMap(({ key }) => prefixOf(key) ?? []),
      });
    }
    return found;
  }

  #meterOf(id: number): Meter {
    const found = this.#meters.get(id);
    if (found !== undefined) return found;
    const meter: Meter = {
      ...noCalls,
      bytesReadRate: new Rate(shortMs),
      bytesWrittenRate: new Rate(shortMs),
      timeRate: new Rate(shortMs),
      readRate: new Rate(shortMs),
      writeRate: new Rate(shortMs),
      longRate: new Rate(longMs),
      drawn: [],
    };
    this.#meters.set(id, meter);
    return meter;
  }

  #storeOf(name: string): { reads: number; writes: number } {
    const found = this.#byStore.get(name);
    if (found !== undefined) return found;
    const calls = { reads: 0, writes: 0 };
    this.#byStore.set(name, calls);
    return calls;
  }

  /** A number below `bound`: xorshift of 32 bits. */
  #below(bound: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return (state >>> 0) % bound;
  }
}

/** Undefined for an interval that does not start within a partition. */
function prefixOf(key: Bytes): Bytes | undefined {
  try {
    return key.subarray(0, partitionPrefixLength(key));
  } catch {
    return undefined;
  }
}
