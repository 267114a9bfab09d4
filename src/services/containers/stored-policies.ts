import { invariant } from '../../base/invariant.js';
import type { TupleElement } from '../../kv/tuple.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { ContainerRecord } from './containers.js';

/** The record of a container that has stored access policies. */
export interface PolicedRecord extends ContainerRecord {
  readonly identifiers: readonly SignedIdentifier[];
}

// Permanent: these elements are in every data directory. See docs/internals/container-keys.md.
const elementsOfPolicy = 4;
/** Marks an absent part of a policy; an empty part is an empty string. */
const absent = 0;

/** Policies as the last elements of a record: four each. */
export function policyElements(identifiers: readonly SignedIdentifier[]): TupleElement[] {
  const elements: TupleElement[] = [];
  for (const { id, start, expiry, permission } of identifiers) {
    elements.push(id, start ?? absent, expiry ?? absent, permission ?? absent);
  }
  return elements;
}

/** Decodes the elements of `policyElements`; no elements mean no policies. */
export function policiesOf(elements: readonly TupleElement[]): readonly SignedIdentifier[] {
  const identifiers: SignedIdentifier[] = [];
  for (let at = 0; at < elements.length; at += elementsOfPolicy) {
    identifiers.push(policyOf(elements.slice(at, at + elementsOfPolicy)));
  }
  return identifiers;
}

function policyOf([id, start, expiry, permission]: readonly TupleElement[]): SignedIdentifier {
  return {
    id: text(id),
    ...(start === absent ? {} : { start: text(start) }),
    ...(expiry === absent ? {} : { expiry: text(expiry) }),
    ...(permission === absent ? {} : { permission: text(permission) }),
  };
}

function text(element: TupleElement | undefined): string {
  invariant(typeof element === 'string', 'a stored access policy is malformed');
  return element;
}
