import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { secondarySuffix } from '../../model/services/services.js';
import { renderServiceStats, type ServiceStats } from '../../wire/xml/service-stats.js';
import type { Operation } from '../exchange/service.js';
import { serviceAccess } from './access.js';
import { documentReply } from './replies.js';
import type { ServiceRequest } from './request.js';

/**
 * `GET /?restype=service&comp=stats` (queue-service §6.3, table-service §3.16). The secondary
 * endpoint is live and up to date where it reads the same store; a standby reports how far it has
 * replicated. The primary refuses the request and names the secondary.
 */
export const getServiceStats: Operation<ServiceRequest, void, ServiceStats> = {
  access: serviceAccess('read'),
  bodyBytesMax: 0,

  parse({ exchange, account }) {
    if (exchange.secondary) return;
    const reason = `Only the secondary endpoint has statistics: ask ${account}${secondarySuffix}.`;
    throw invalidQueryParameter('comp', 'stats', reason);
  },

  run(_input, { backend }) {
    if (backend.synchrony !== undefined) return backend.synchrony();
    return Promise.resolve({ status: 'live', lastSyncMicros: backend.clock.nowMicros() });
  },

  render(stats, _input, { exchange }) {
    return documentReply(exchange, renderServiceStats(stats));
  },
};
