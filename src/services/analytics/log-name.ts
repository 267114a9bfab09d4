import { intervalStart } from '../../model/analytics/metrics-table.js';
import type { ServiceName } from '../../model/services/services.js';

/** The container of the logs of all services of an account (blob-service §5.1). */
export const logContainer = '$logs';

/** Where the logs of an hour are: `table/2011/07/31/1800/` (blob-service §21.2). */
export function logFolder(service: ServiceName, micros: number): string {
  const hour = new Date(intervalStart('Hour', micros) / 1000).toISOString();
  const [date = '', time = ''] = hour.split('T');
  return `${service}/${date.replaceAll('-', '/')}/${time.slice(0, 2)}00/`;
}

/** The name of a log: its number in its hour has six digits. */
export function logName(folder: string, number: number): string {
  return `${folder}${String(number).padStart(6, '0')}.log`;
}
