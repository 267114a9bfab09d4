import type { ServiceName } from '../../model/services/services.js';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Store } from '../../kv/store.js';
import { transact } from '../../kv/transact.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import type { CorsRule, ServiceProperties } from '../../model/resources/service-properties.js';
import { servicePropertiesKey } from '../containers/keys.js';

// Permanent: this value is in every data directory. See docs/internals/container-keys.md.
const propertiesFormat = 1;

/** Attempts to change properties against concurrent changes. */
const attemptsMax = 100;

const keepNothing = Object.freeze({ enabled: false });

/** The properties of a new account, of every service (queue-service §6.2, table-service §3.15). */
export const defaultServiceProperties: ServiceProperties = Object.freeze({
  logging: Object.freeze({
    version: '1.0',
    read: false,
    write: false,
    delete: false,
    retention: keepNothing,
  }),
  hourMetrics: Object.freeze({
    version: '1.0',
    enabled: true,
    includeApis: true,
    retention: Object.freeze({ enabled: true, days: 7 }),
  }),
  minuteMetrics: Object.freeze({ version: '1.0', enabled: false, retention: keepNothing }),
  cors: Object.freeze([]),
});

/** The default properties of blobs (blob-service §6.2). */
const defaultBlobProperties: ServiceProperties = Object.freeze({
  ...defaultServiceProperties,
  deleteRetention: Object.freeze({ enabled: false, allowPermanentDelete: false }),
  staticWebsite: Object.freeze({ enabled: false }),
});

const defaults: Readonly<Record<ServiceName, ServiceProperties>> = {
  table: defaultServiceProperties,
  queue: defaultServiceProperties,
  blob: defaultBlobProperties,
};

/** Called when properties of an account were set. */
export interface PropertiesHooks {
  /** Called when the properties switch logging on. */
  readonly onLogging?: (account: string) => Promise<void>;
  /** Called when the properties switch the static website of the account on. */
  readonly onWebsite?: (account: string) => Promise<void>;
}

/** Cached properties that are older are refreshed. */
const recentMs = 1_000;

/** Cached properties of this process. */
interface SeenProperties {
  properties: ServiceProperties;
  /** The time of the last refresh. */
  askedMs: number;
}

/**
 * The properties of an account's services. The caller validates the values; they are stored as
 * given.
 */
export class ServicePropertiesService {
  readonly #store: Store;
  readonly #hooks: PropertiesHooks;
  /** By service, then by account. A replaced entry is never written again. */
  readonly #seen = new Map<string, Map<string, SeenProperties>>();

  constructor(store: Store, hooks: PropertiesHooks = {}) {
    this.#store = store;
    this.#hooks = hooks;
  }

  async get(service: ServiceName, account: string): Promise<ServiceProperties> {
    const entry = await this.#store.get(servicePropertiesKey(service, account));
    return entry === undefined ? defaults[service] : decodeProperties(entry.value);
  }

  /** Replaces the members that are present, atomically; the others keep their values. */
  async set(
    service: ServiceName,
    account: string,
    change: Partial<ServiceProperties>,
  ): Promise<void> {
    const key = servicePropertiesKey(service, account);
    const { result: properties } = await transact(
      this.#store,
      async (transaction) => {
        const entry = await transaction.get(key);
        const old = entry === undefined ? defaults[service] : decodeProperties(entry.value);
        const changed = { ...old, ...change };
        transaction.put(key, encodeProperties(changed));
        return changed;
      },
      { attemptsMax },
    );
    this.#seenOf(service).set(account, { properties, askedMs: -Infinity });
    const { logging, staticWebsite } = properties;
    const { onLogging, onWebsite } = this.#hooks;
    if (logging.read || logging.write || logging.delete) await onLogging?.(account);
    if (staticWebsite?.enabled === true) await onWebsite?.(account);
  }

  /** The CORS rules in the store. */
  async corsRules(service: ServiceName, account: string): Promise<readonly CorsRule[]> {
    return (await this.get(service, account)).cors;
  }

  /** The CORS rules, as `recent`. */
  recentCorsRules(service: ServiceName, account: string, nowMs: number): readonly CorsRule[] {
    return this.recent(service, account, nowMs).cors;
  }

  /**
   * The properties from this process's cache, without waiting for the store. Changes by this
   * process are visible at once. Changes by other processes are visible within a second under
   * steady load, or with the second request after a pause: properties older than a second are
   * refreshed in the background.
   *
   * @param nowMs on the monotonic clock
   */
  recent(service: ServiceName, account: string, nowMs: number): ServiceProperties {
    const ofService = this.#seenOf(service);
    let seen = ofService.get(account);
    if (seen === undefined) {
      seen = { properties: defaults[service], askedMs: -Infinity };
      ofService.set(account, seen);
    }
    if (nowMs - seen.askedMs >= recentMs) {
      seen.askedMs = nowMs;
      void this.#refresh(service, account, seen);
    }
    return seen.properties;
  }

  /** Reads properties into the cache, so that `recent` knows them at once. Never rejects. */
  async load(service: ServiceName, account: string): Promise<void> {
    const seen = { properties: defaultServiceProperties, askedMs: -Infinity };
    await this.#refresh(service, account, seen);
    const ofService = this.#seenOf(service);
    if (!ofService.has(account)) ofService.set(account, seen);
  }

  /**
   * A failed read is retried after a second; requests that need the store report the failure
   * themselves.
   */
  async #refresh(service: ServiceName, account: string, seen: SeenProperties): Promise<void> {
    seen.properties = await this.get(service, account).catch(() => seen.properties);
  }

  #seenOf(service: ServiceName): Map<string, SeenProperties> {
    let ofService = this.#seen.get(service);
    if (ofService === undefined) {
      ofService = new Map();
      this.#seen.set(service, ofService);
    }
    return ofService;
  }
}

function encodeProperties(properties: ServiceProperties): Bytes {
  return encodeTuple([propertiesFormat, JSON.stringify(properties)]);
}

function decodeProperties(value: Bytes): ServiceProperties {
  const [format, text] = decodeTuple(value);
  invariant(
    format === propertiesFormat,
    `unknown format ${String(format)} of a service's properties`,
  );
  invariant(typeof text === 'string', "a service's properties are malformed");
  return JSON.parse(text) as ServiceProperties;
}
