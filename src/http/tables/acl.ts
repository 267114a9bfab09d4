import { services } from '../../model/services/services.js';
import { resourceOf } from '../operations/request.js';
import type { StoredPolicies } from '../operations/signed-identifiers.js';
import type { TableRequest } from './request.js';

/** The access policies of tables (table-service §3.14, §8.3). */
export const tablePolicies: StoredPolicies<TableRequest> = {
  letters: services.table.signature.permissions,
  containerOf: (request) => resourceOf(request, 'entities').table,

  read({ backend, account }, table) {
    return backend.tables.getSignedIdentifiers(account, table);
  },

  write({ backend, account }, table, identifiers) {
    return backend.tables.setSignedIdentifiers(account, table, identifiers);
  },
};
