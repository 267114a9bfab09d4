import type { Bytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import { boundOf, boundText } from '../../partition/bound-text.js';
import {
  Containers,
  type ContainerPage,
  type ContainerRecord,
} from '../../services/containers/containers.js';
import type { PolicedRecord } from '../../services/containers/stored-policies.js';
import { queueKind } from '../../services/queues/queue-record.js';
import { tableKind } from '../../services/tables/table-record.js';

type NamedContainers = Pick<Containers<PolicedRecord>, 'prefixOf'> & {
  list(
    account: string,
    options: { readonly from: string; readonly limit: number },
  ): Promise<ContainerPage<ContainerRecord>>;
};

/** Tables and queues of an account that are named in a list; the others are shown by number. */
const containersNamedMax = 10_000;

/** The names of the tables or queues of an account, by number. */
export type NamesOf = (service: string, account: string) => Promise<ReadonlyMap<number, string>>;

/** Bounds of ranges with the names of tables and queues instead of their numbers. */
export class ContainerNames {
  readonly #containers: ReadonlyMap<unknown, NamedContainers>;

  constructor(store: Store) {
    this.#containers = new Map<unknown, NamedContainers>([
      [tableKind.service, new Containers(store, tableKind)],
      [queueKind.service, new Containers(store, queueKind)],
    ]);
  }

  /** The bounds as texts, in their order. */
  async texts(bounds: readonly Bytes[]): Promise<readonly string[]> {
    const accounts = new Map<string, ReadonlyMap<number, string>>();
    const texts: string[] = [];
    for (const bound of bounds) {
      const [service, account, id] = decodeTuple(bound);
      const text = boundText(bound);
      if (typeof account !== 'string' || typeof id !== 'number' || id === 0) {
        texts.push(text);
        continue;
      }
      const place = `${String(service)}/${account}`;
      const names =
        accounts.get(place) ?? (await this.namesOf(service, account, containersNamedMax));
      accounts.set(place, names);
      const name = names.get(id);
      texts.push(name === undefined ? text : text.replace(`/#${id}`, `/${name}`));
    }
    return texts;
  }

  /** Parses a bound; undefined for a malformed one, or one that names a missing table or queue. */
  async bound(text: string): Promise<Bytes | undefined> {
    const bound = text === '' ? undefined : boundOf(text);
    if (bound === undefined) return undefined;
    const [service, account, name, ...rest] = decodeTuple(bound);
    const containers = this.#containers.get(service);
    if (containers === undefined || typeof name !== 'string') return bound;
    const prefix = await containers.prefixOf(String(account), name);
    return prefix && Buffer.concat([prefix, encodeTuple(rest)]);
  }

  /**
   * Key prefix of the table or queue that the text names, by name or id. Undefined if the text is
   * no container or none exists.
   */
  async container(text: string): Promise<Bytes | undefined> {
    const bound = boundOf(text);
    if (bound === undefined) return undefined;
    const [service, account, container, ...more] = decodeTuple(bound);
    const containers = this.#containers.get(service);
    if (containers === undefined || typeof account !== 'string' || more.length > 0)
      return undefined;
    if (typeof container === 'string') return containers.prefixOf(account, container);
    const isThere =
      typeof container === 'number' && (await this.namesOf(service, account)).has(container);
    return isThere ? bound : undefined;
  }

  /** The percent-encoded names by number. `namesMax`: about how many to read. Default: all. */
  async namesOf(
    service: unknown,
    account: string,
    namesMax = Infinity,
  ): Promise<ReadonlyMap<number, string>> {
    const containers = this.#containers.get(service);
    const names = new Map<number, string>();
    let from: string | undefined = '';
    if (containers === undefined) return names;
    while (from !== undefined && names.size < namesMax) {
      const page: Awaited<ReturnType<typeof containers.list>> = await containers.list(account, {
        from,
        limit: 1_000,
      });
      for (const { id, name } of page.records) names.set(id, encodeURIComponent(name));
      from = page.next;
    }
    return names;
  }
}
