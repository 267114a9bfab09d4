import type { Clock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { containerIdentity, services, type ServiceName } from '../../model/services/services.js';
import type { AdmittedRequest, Interceptor } from '../pipeline/interceptor.js';
import type { RequestRecord } from '../exchange/record.js';
import {
  azureRates,
  parseThrottle,
  type ParsedLimits,
  type ThrottleRates,
  type ThrottleSetting,
} from './limits.js';
import { TokenBucket } from './token-bucket.js';

/** The size of the bucket cache; least recently used buckets are removed. */
const bucketsMax = 10_000;

/** The rate that applies to a partition of a service. */
const partitionRate: Readonly<Record<ServiceName, keyof ThrottleRates>> = {
  table: 'entitiesPerSecondPerPartition',
  queue: 'messagesPerSecondPerQueue',
  blob: 'requestsPerSecondPerBlob',
};

interface Reservation {
  readonly bucket: TokenBucket;
  readonly tokens: number;
}

/** The reservation of an admitted request. */
interface Admission {
  readonly account: TokenBucket;
  readonly reservations: readonly Reservation[];
}

/**
 * Throttles requests. A request is checked before its work, and its record charges the actual cost.
 * The known minimum is reserved meanwhile, so that concurrent requests do not exceed a limit
 * together.
 */
export class Throttle implements Interceptor {
  readonly #clock: Clock;
  #setting: ThrottleSetting = 'off';
  #limits: ParsedLimits | undefined;
  readonly #accounts = new Map<string, TokenBucket>();
  /** In the order of their last use. */
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #admissions = new Map<string, Admission>();
  #refused = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isActive(): boolean {
    return this.#limits !== undefined;
  }

  get setting(): ThrottleSetting {
    return this.#setting;
  }

  /** The requests refused since the limits were set. */
  get refused(): number {
    return this.#refused;
  }

  /** Applies other limits, with full buckets. Throws `InvalidSettingError`. */
  set(setting: ThrottleSetting): void {
    this.#limits = parseThrottle(setting);
    this.#setting = setting;
    this.#accounts.clear();
    this.#buckets.clear();
    this.#admissions.clear();
    this.#refused = 0;
  }

  async beforeWork(request: AdmittedRequest): Promise<void> {
    const { exchange } = request;
    const nowMs = this.#clock.monotonicMs();
    const account = this.#accountBucket(exchange.account?.name ?? '', nowMs);
    const reservations = this.#needs(request, nowMs);
    let waitMs = account.waitMs(1, nowMs);
    for (const { bucket, tokens } of reservations) {
      waitMs = Math.max(waitMs, bucket.waitMs(tokens, nowMs));
    }
    if (waitMs > 0) {
      this.#refused += 1;
      const retryAfterSeconds = Math.ceil(waitMs / 1000);
      throw new StorageError('ServerBusy', { retryAfterSeconds });
    }
    account.reserve(1);
    for (const { bucket, tokens } of reservations) bucket.reserve(tokens);
    this.#admissions.set(exchange.requestId, { account, reservations });
  }

  /** Charges the cost of a request. */
  readonly observe = (record: RequestRecord): void => {
    const admission = this.#admissions.get(record.requestId);
    if (admission === undefined) return;
    this.#admissions.delete(record.requestId);
    const nowMs = this.#clock.monotonicMs();
    const { account, reservations } = admission;
    account.release(1);
    account.take(1, nowMs);
    for (const { bucket, tokens } of reservations) bucket.release(tokens);
    const { service } = record;
    for (const { container = record.resource, partitionKey, count } of record.load) {
      const where = { service, account: record.account, resource: container };
      this.#bucketOf(where, partitionKey, nowMs).take(count, nowMs);
    }
  };

  /** The known cost of a request before its work. */
  #needs(request: AdmittedRequest, nowMs: number): readonly Reservation[] {
    if (!request.hasLoad) return [];
    const { exchange } = request;
    const { service, resource } = exchange;
    const where = { account: exchange.account?.name, service, resource };
    if (services[service].container.partitions === 'whole') {
      return [{ bucket: this.#bucketOf(where, '', nowMs), tokens: 1 }];
    }
    const counts = new Map<TokenBucket, number>();
    for (const { container = resource, partitionKey, rowKey } of request.entities()) {
      const bucket = this.#bucketOf({ ...where, resource: container }, partitionKey, nowMs);
      // The size of a whole partition is not known, but its bucket must not be in debt.
      const before = counts.get(bucket) ?? 0;
      counts.set(bucket, rowKey === undefined ? Math.max(1, before) : before + 1);
    }
    return Array.from(counts, ([bucket, tokens]) => ({ bucket, tokens }));
  }

  #accountBucket(name: string, nowMs: number): TokenBucket {
    let bucket = this.#accounts.get(name);
    if (bucket === undefined) {
      bucket = new TokenBucket(this.#ratesOf(name).requestsPerSecondPerAccount, nowMs);
      this.#accounts.set(name, bucket);
    }
    return bucket;
  }

  #bucketOf(
    where: Pick<RequestRecord, 'service' | 'account' | 'resource'>,
    partitionKey: string,
    nowMs: number,
  ): TokenBucket {
    const { service, account = '', resource = '' } = where;
    const container = containerIdentity(service, resource);
    const name = JSON.stringify([service, account, container, partitionKey]);
    const rates = this.#ratesOf(account);
    const known = this.#buckets.get(name);
    const bucket = known ?? new TokenBucket(rates[partitionRate[service]], nowMs);
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > bucketsMax) this.#forgetOldest();
    return bucket;
  }

  #forgetOldest(): void {
    for (const name of this.#buckets.keys()) {
      this.#buckets.delete(name);
      return;
    }
  }

  #ratesOf(account: string): ParsedLimits['rates'] {
    return this.#limits?.accounts.get(account) ?? this.#limits?.rates ?? azureRates;
  }
}
