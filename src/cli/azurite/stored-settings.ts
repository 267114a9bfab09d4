import type {
  CorsRule,
  LoggingProperties,
  MetricsProperties,
  RetentionPolicy,
  ServiceProperties,
} from '../../model/resources/service-properties.js';
import { services, type ServiceName } from '../../model/services/services.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import {
  parseSignedIdentifiers,
  renderSignedIdentifiers,
} from '../../wire/xml/signed-identifiers.js';
import { isDocument, textIn, type Document } from './data-files.js';
import { isAccepted, type Refuse } from './stored-data.js';

/** Stored access policies, checked as the service checks them. */
export function policiesOf(
  value: unknown,
  service: ServiceName,
  location: string,
  refuse: Refuse,
): readonly SignedIdentifier[] {
  if (!Array.isArray(value)) return [];
  const policies = value.filter(isDocument).map(policyOf);
  const { permissions: letters } = services[service].signature;
  const check = (): unknown => parseSignedIdentifiers(renderSignedIdentifiers(policies), letters);
  return isAccepted(`${location}, its access policies`, refuse, check) ? policies : [];
}

function policyOf(document: Document): SignedIdentifier {
  const policy = isDocument(document['accessPolicy']) ? document['accessPolicy'] : {};
  const given = (['start', 'expiry', 'permission'] as const).flatMap((name) => {
    const text = textIn(policy, name);
    return text === '' ? [] : [[name, text] as const];
  });
  return { id: textIn(document, 'id'), ...Object.fromEntries(given) };
}

/** The members that are present. */
export function propertiesOf(document: Document): Partial<ServiceProperties> {
  const { logging, hourMetrics, minuteMetrics, cors } = document;
  return {
    ...(isDocument(logging) ? { logging: loggingOf(logging) } : {}),
    ...(isDocument(hourMetrics) ? { hourMetrics: metricsOf(hourMetrics) } : {}),
    ...(isDocument(minuteMetrics) ? { minuteMetrics: metricsOf(minuteMetrics) } : {}),
    ...(Array.isArray(cors) ? { cors: cors.filter(isDocument).map(ruleOf) } : {}),
  };
}

function loggingOf(document: Document): LoggingProperties {
  return {
    version: versionOf(document),
    read: document['read'] === true,
    write: document['write'] === true,
    delete: document['deleteProperty'] === true || document['delete'] === true,
    retention: retentionOf(document['retentionPolicy']),
  };
}

function metricsOf(document: Document): MetricsProperties {
  const enabled = document['enabled'] === true;
  return {
    version: versionOf(document),
    enabled,
    ...(enabled ? { includeApis: document['includeAPIs'] === true } : {}),
    retention: retentionOf(document['retentionPolicy']),
  };
}

function versionOf(document: Document): string {
  return textIn(document, 'version') || '1.0';
}

function retentionOf(value: unknown): RetentionPolicy {
  const policy = isDocument(value) ? value : {};
  return policy['enabled'] === true
    ? { enabled: true, days: Number(policy['days']) }
    : { enabled: false };
}

function ruleOf(document: Document): CorsRule {
  const list = (name: string): readonly string[] =>
    textIn(document, name)
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  return {
    allowedOrigins: list('allowedOrigins'),
    allowedMethods: list('allowedMethods'),
    allowedHeaders: list('allowedHeaders'),
    exposedHeaders: list('exposedHeaders'),
    maxAgeSeconds: Number(document['maxAgeInSeconds'] ?? 0),
  };
}
