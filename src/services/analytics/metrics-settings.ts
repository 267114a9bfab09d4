import type { MetricsInterval } from '../../model/analytics/metrics-table.js';
import type {
  MetricsProperties,
  ServiceProperties,
} from '../../model/resources/service-properties.js';

/** The settings of the metrics of one interval. */
export function metricsOf(
  { hourMetrics, minuteMetrics }: Pick<ServiceProperties, 'hourMetrics' | 'minuteMetrics'>,
  interval: MetricsInterval,
): MetricsProperties {
  return interval === 'Hour' ? hourMetrics : minuteMetrics;
}

/** Whether metrics of any interval are on. */
export function hasMetrics({ hourMetrics, minuteMetrics }: ServiceProperties): boolean {
  return hourMetrics.enabled || minuteMetrics.enabled;
}
