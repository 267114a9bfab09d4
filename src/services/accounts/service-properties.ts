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

/** Tries to change properties while others change them too. */
const attemptsMax = 100;

const keepNothing = Object.freeze({ enabled: false });

/** What a service of a new account answers (queue-service §6.2, table-service §3.15). */
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

/** Rules that are not asked of the store each time are asked for again when they are older. */
const recentMs = 1_000;

/** Rules as this process has last seen them. */
interface SeenRules {
  rules: readonly CorsRule[];
  /** When they were last asked for. */
  askedMs: number;
}

/**
 * What an account has set for each of its services. The values are the caller's to check: they are
 * kept as they are.
 */
export class ServicePropertiesService {
  readonly #store: Store;
  /** By service, then by account. An entry that is replaced is written to by nobody any more. */
  readonly #seen = new Map<string, Map<string, SeenRules>>();

  constructor(store: Store) {
    this.#store = store;
  }

  async get(service: ServiceName, account: string): Promise<ServiceProperties> {
    const entry = await this.#store.get(servicePropertiesKey(service, account));
    return entry === undefined ? defaultServiceProperties : decodeProperties(entry.value);
  }

  /** Replaces the members that are present, atomically; the others keep what they have. */
  async set(
    service: ServiceName,
    account: string,
    change: Partial<ServiceProperties>,
  ): Promise<void> {
    const key = servicePropertiesKey(service, account);
    await transact(
      this.#store,
      async (transaction) => {
        const entry = await transaction.get(key);
        const old = entry === undefined ? defaultServiceProperties : decodeProperties(entry.value);
        transaction.put(key, encodeProperties({ ...old, ...change }));
      },
      { attemptsMax },
    );
    if (change.cors !== undefined) {
      this.#seenOf(service).set(account, { rules: change.cors, askedMs: -Infinity });
    }
  }

  /** The rules about origins, as the store has them. */
  async corsRules(service: ServiceName, account: string): Promise<readonly CorsRule[]> {
    return (await this.get(service, account)).cors;
  }

  /**
   * The rules about origins as this process knows them, without waiting for the store. What it has
   * set itself is known at once. What other processes set is known to who asks a second later, or
   * asks again after a pause: rules older than a second are asked for behind the answer.
   *
   * @param nowMs on the monotonic clock
   */
  recentCorsRules(service: ServiceName, account: string, nowMs: number): readonly CorsRule[] {
    const ofService = this.#seenOf(service);
    let seen = ofService.get(account);
    if (seen === undefined) {
      seen = { rules: defaultServiceProperties.cors, askedMs: -Infinity };
      ofService.set(account, seen);
    }
    if (nowMs - seen.askedMs >= recentMs) {
      seen.askedMs = nowMs;
      void this.#refresh(service, account, seen);
    }
    return seen.rules;
  }

  /** A read that fails is tried again in a second; who needs the store now finds out by itself. */
  async #refresh(service: ServiceName, account: string, seen: SeenRules): Promise<void> {
    seen.rules = await this.corsRules(service, account).catch(() => seen.rules);
  }

  #seenOf(service: ServiceName): Map<string, SeenRules> {
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
