import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import {
  parseSignedIdentifiers,
  renderSignedIdentifiers,
} from '../../wire/xml/signed-identifiers.js';
import type { Operation } from '../exchange/service.js';
import type { GrantedAccess } from '../exchange/access.js';
import type { Exchange } from '../exchange/exchange.js';
import { ownerAccessOr } from './access.js';
import { documentReply, emptyReply } from './replies.js';
import { type ServiceRequest, xmlBodyBytesMax } from './request.js';

/** The stored access policies of a service's containers. */
export interface StoredPolicies<Request extends ServiceRequest> {
  /** The permission letters of a policy, in the order in which they are written. */
  readonly letters: string;
  /** The permissions that a token needs; undefined: tokens are refused. */
  readonly byRole?: { readonly get: GrantedAccess; readonly set: GrantedAccess };
  /** The addressed container. Throws when the name is illegal. */
  containerOf(request: Request): string;
  read(request: Request, container: string): Promise<readonly SignedIdentifier[]>;
  /** Replaces all. */
  write(
    request: Request,
    container: string,
    identifiers: readonly SignedIdentifier[],
  ): Promise<void>;
}

/** `GET` or `HEAD` of a container with `comp=acl` (queue-service §7.5, table-service §3.14). */
export function getSignedIdentifiers<Request extends ServiceRequest>(
  policies: StoredPolicies<Request>,
): Operation<Request, string, readonly SignedIdentifier[]> {
  return {
    access: ownerAccessOr(policies.byRole?.get),
    bodyBytesMax: 0,

    parse(request) {
      return policies.containerOf(request);
    },

    run(container, request) {
      return policies.read(request, container);
    },

    render(identifiers, _container, { exchange }) {
      return documentReply(exchange, renderSignedIdentifiers(identifiers));
    },
  };
}

/** The policies in the body of a request, by their letters; none without a body. */
export function identifiersOf(
  { body }: Pick<Exchange, 'body'>,
  letters: string,
): readonly SignedIdentifier[] {
  return body.length === 0 ? [] : parseSignedIdentifiers(body, letters);
}

interface Replacement {
  readonly container: string;
  readonly identifiers: readonly SignedIdentifier[];
}

/** `PUT` of a container with `comp=acl`. Without a body, all policies are deleted. */
export function setSignedIdentifiers<Request extends ServiceRequest>(
  policies: StoredPolicies<Request>,
): Operation<Request, Replacement, void> {
  return {
    access: ownerAccessOr(policies.byRole?.set),
    bodyBytesMax: xmlBodyBytesMax,

    parse(request) {
      const container = policies.containerOf(request);
      return { container, identifiers: identifiersOf(request.exchange, policies.letters) };
    },

    run({ container, identifiers }, request) {
      return policies.write(request, container, identifiers);
    },

    render() {
      return emptyReply(204);
    },
  };
}
