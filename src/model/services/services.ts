import { blobService } from './blob.js';
import { queueService } from './queue.js';
import type { ServiceDescriptor } from './service-descriptor.js';
import { tableService } from './table.js';

const declared = { table: tableService, queue: queueService, blob: blobService } as const;

/** The storage services of this server. */
export type ServiceName = keyof typeof declared;
/** The container of a service. */
export type ContainerNoun = (typeof declared)[ServiceName]['container']['noun'];

export const services: { readonly [Name in ServiceName]: ServiceDescriptor & { name: Name } } =
  declared;

/** In display order. */
export const serviceNames: readonly ServiceName[] = Object.values(services).map(({ name }) => name);

/** The letter of the service of files, which this server does not have. */
const fileLetter = 'f';
/** The letters that `ss` can have, in the order in which errors tell them. */
export const accountServiceLetters: string = [
  ...serviceNames.map((name) => services[name].signature.letter).toSorted(),
  fileLetter,
].join('');

/** A value for each service. */
export function byService<Value>(
  valueOf: (service: ServiceName) => Value,
): Record<ServiceName, Value> {
  const values = serviceNames.map((service) => [service, valueOf(service)] as const);
  return Object.fromEntries(values) as Record<ServiceName, Value>;
}

export function containerNounOf(service: ServiceName): ContainerNoun {
  return declared[service].container.noun;
}

/** The member of a connection string with the endpoint of a service. */
export function endpointMember(service: ServiceName): string {
  return `${services[service].title}Endpoint`;
}

/** The identity of a container: equal for all names that mean the same container. */
export function containerIdentity(service: ServiceName, name: string): string {
  return services[service].container.ignoresCase ? name.toLowerCase() : name;
}

/** After the name of an account, this suffix means its secondary endpoint. */
export const secondarySuffix = '-secondary';
