import { httpDate } from '../http/http-date.js';
import { element, xmlDocument } from './element.js';

export interface ServiceStats {
  readonly status: 'live' | 'bootstrap' | 'unavailable';
  /** Microseconds since 1970: all earlier writes are on the secondary. Present only when live. */
  readonly lastSyncMicros?: number;
}

/** The replication status of the secondary (queue-service §6.3, table-service §3.16). */
export function renderServiceStats({ status, lastSyncMicros }: ServiceStats): Buffer {
  const isKnown = status === 'live' && lastSyncMicros !== undefined;
  const children = [
    element('Status', status),
    element('LastSyncTime', isKnown ? httpDate(lastSyncMicros) : ''),
  ];
  const replication = element('GeoReplication', children.join(''));
  return xmlDocument(element('StorageServiceStats', replication));
}
