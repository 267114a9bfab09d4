import { invalidQueryParameter } from '../../wire/errors/query-errors.js';
import { renderServiceStats } from '../../wire/xml/service-stats.js';
import type { Operation } from '../pipeline/service.js';
import { serviceAccess } from './access.js';
import { xmlReply } from './replies.js';
import type { ServiceRequest } from './request.js';

/**
 * `GET /?restype=service&comp=stats` (spec queue-service §6.3, table-service §3.16). The secondary
 * endpoint reads the same store, so it is live and has seen everything up to now.
 *
 * `onPrimary`: whether the primary endpoint answers too, or says where to ask.
 */
export function getServiceStats(
  onPrimary: 'answered' | 'refused',
): Operation<ServiceRequest, void, number> {
  return {
    access: serviceAccess('read'),
    bodyBytesMax: 0,

    parse({ exchange, account }) {
      if (exchange.secondary || onPrimary === 'answered') return;
      const reason = `Only the secondary endpoint has statistics: ask ${account}-secondary.`;
      throw invalidQueryParameter('comp', 'stats', reason);
    },

    run(_input, { backend }) {
      return Promise.resolve(backend.clock.nowMicros());
    },

    render(lastSyncMicros) {
      return xmlReply(200, renderServiceStats({ status: 'live', lastSyncMicros }));
    },
  };
}
