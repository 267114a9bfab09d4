import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { secondarySuffix } from '../../model/services/services.js';
import { renderServiceStats } from '../../wire/xml/service-stats.js';
import type { Operation } from '../exchange/service.js';
import { serviceAccess } from './access.js';
import { documentReply } from './replies.js';
import type { ServiceRequest } from './request.js';

/**
 * `GET /?restype=service&comp=stats` (queue-service §6.3, table-service §3.16). The secondary
 * endpoint reads the same store, so it is live and up to date. The primary refuses the request and
 * names the secondary.
 */
export const getServiceStats: Operation<ServiceRequest, void, number> = {
  access: serviceAccess('read'),
  bodyBytesMax: 0,

  parse({ exchange, account }) {
    if (exchange.secondary) return;
    const reason = `Only the secondary endpoint has statistics: ask ${account}${secondarySuffix}.`;
    throw invalidQueryParameter('comp', 'stats', reason);
  },

  run(_input, { backend }) {
    return Promise.resolve(backend.clock.nowMicros());
  },

  render(lastSyncMicros, _input, { exchange }) {
    return documentReply(exchange, renderServiceStats({ status: 'live', lastSyncMicros }));
  },
};
