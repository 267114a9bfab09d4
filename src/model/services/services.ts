import { queueService } from './queue.js';
import type { ServiceDescriptor } from './service-descriptor.js';
import { tableService } from './table.js';

const declared = { table: tableService, queue: queueService } as const;

/** The storage services of this server. */
export type ServiceName = keyof typeof declared;
/** What a service keeps its data in. */
export type ContainerNoun = (typeof declared)[ServiceName]['container']['noun'];

export const services: { readonly [Name in ServiceName]: ServiceDescriptor & { name: Name } } =
  declared;

/** In the order in which they are shown. */
export const serviceNames: readonly ServiceName[] = Object.values(services).map(({ name }) => name);

/** Services of the cloud that this server does not have. */
export const absentServices = ['blob'] as const satisfies readonly Absent<'blob'>[];
type Absent<Name extends string> = Name extends ServiceName ? never : Name;

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

/** The member of a connection string that says where a service is. */
export function endpointMember(service: ServiceName): string {
  return `${services[service].title}Endpoint`;
}

/** What two names have in common that mean the same container. */
export function containerIdentity(service: ServiceName, name: string): string {
  return services[service].container.ignoresCase ? name.toLowerCase() : name;
}

/** Behind the name of an account, this means the secondary endpoint of its services. */
export const secondarySuffix = '-secondary';
