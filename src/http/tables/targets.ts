import { invariant } from '../../base/invariant.js';
import type { Resource } from '../../wire/odata/resource.js';
import type { TableRequest } from './request.js';

type Kind = Resource['kind'];

/** The resource of a request that was routed by its kind. */
export function resourceOf<K extends Kind>(
  { resource }: TableRequest,
  kind: K,
): Extract<Resource, { kind: K }> {
  invariant(isKind(resource, kind), `routed as ${kind}`);
  return resource;
}

function isKind<K extends Kind>(
  resource: Resource,
  kind: K,
): resource is Extract<Resource, { kind: K }> {
  return resource.kind === kind;
}
