import { StorageError } from '../../wire/errors/storage-error.js';
import type { Access, Permission } from '../pipeline/authorise.js';
import type { Operation } from '../pipeline/service.js';
import type { TableRequest } from './request.js';

export type TableOperation<Input = unknown, Output = unknown> = Operation<
  TableRequest,
  Input,
  Output
>;

/** The longest body of any operation (spec table-service §2.2). */
export const bodyBytesMax = 4 * 1024 * 1024;

export const publicAccess: Access = { kind: 'public' };

export function serviceAccess(...permissions: readonly Permission[]): Access {
  return { kind: 'granted', scope: 'service', permissions };
}

export function tableAccess(...permissions: readonly Permission[]): Access {
  return { kind: 'granted', scope: 'container', permissions };
}

export function entityAccess(...permissions: readonly Permission[]): Access {
  return { kind: 'granted', scope: 'object', permissions };
}

/** An operation of the protocol that this server does not have yet. */
export function notYet(access: Access): TableOperation<never, never> {
  const refuse = () => {
    throw new StorageError('NotImplemented');
  };
  return { access, bodyBytesMax: 0, parse: refuse, run: refuse, render: refuse };
}
