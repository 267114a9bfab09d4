import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { ServicePropertiesService } from '../../services/accounts/service-properties.js';
import type { AddressedRequest } from '../exchange/service.js';
import type { ServiceStats } from '../../wire/xml/service-stats.js';
import type { Exchange } from '../exchange/exchange.js';

/** The backend of the operations that every service has. */
export interface ServiceBackend {
  readonly properties: ServicePropertiesService;
  readonly clock: Clock;
  /**
   * How far the data of a secondary lag behind the primary. Absent: the data are those of the
   * primary, or never lag.
   */
  readonly synchrony?: (() => Promise<ServiceStats>) | undefined;
}

/** A request to a service, as operations see it. */
export interface ServiceRequest<
  Backend extends ServiceBackend = ServiceBackend,
> extends AddressedRequest {
  readonly backend: Backend;
  /** The HTTP request that carries this one. */
  readonly exchange: Exchange;
  /** Name of the addressed account. */
  readonly account: string;
}

export function accountName({ account }: Exchange): string {
  invariant(account !== undefined, 'the account is known before the operation');
  return account.name;
}

/** The resource of a request that was routed by its kind. */
export function resourceOf<R extends { readonly kind: string }, K extends R['kind']>(
  { resource }: { readonly resource: R },
  kind: K,
): Extract<R, { kind: K }> {
  invariant(isKind(resource, kind), `routed as ${kind}`);
  return resource;
}

function isKind<R extends { readonly kind: string }, K extends R['kind']>(
  resource: R,
  kind: K,
): resource is Extract<R, { kind: K }> {
  return resource.kind === kind;
}

/** The longest body of policies or rules. */
export const xmlBodyBytesMax = 64 * 1024;
