import { invalidXmlDocument, invalidXmlNode } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type {
  LoggingProperties,
  MetricsProperties,
  RetentionPolicy,
  ServiceProperties,
} from '../../model/resources/service-properties.js';
import { booleanOf, childrenOf, expectRoot, integerOf, required, textOf } from './content-model.js';
import { parseCors, renderCors } from './cors-rules.js';
import { element, textElement, xmlDocument } from './element.js';
import { parseXml, type XmlElement } from './reader.js';
import { corsVersion } from './versions.js';

/** The differences between the property documents of services. */
export interface PropertiesDialect {
  readonly loggingVersions: readonly string[];
  /** True when faults have their own codes; otherwise every one is `InvalidXmlDocument`. */
  readonly hasSpecificCodes: boolean;
}

/** See queue-service §6.2. */
export const queueProperties: PropertiesDialect = {
  loggingVersions: ['1.0', '2.0'],
  hasSpecificCodes: true,
};

/** See table-service §3.15. */
export const tableProperties: PropertiesDialect = {
  loggingVersions: ['1.0'],
  hasSpecificCodes: false,
};

const metricsVersions = ['1.0'];
const retentionDaysMax = 365;
const rootName = 'StorageServiceProperties';

/**
 * The parts that a body sets. From version 2013-08-15 on, at least one of them; before, all of that
 * time, with hour metrics as `Metrics`. Each part is complete.
 *
 * @throws InvalidXmlDocument for another document or a contradictory one. By the dialect also
 * InvalidXmlNodeValue, MissingRequiredXmlNode, UnsupportedXmlNode.
 */
export function parseServiceProperties(
  body: Buffer,
  version: string,
  dialect: PropertiesDialect,
): Partial<ServiceProperties> {
  const root = parseXml(body);
  try {
    expectRoot(root, rootName);
    return version < corsVersion ? parseOld(root, dialect) : parseParts(root, dialect);
  } catch (error) {
    if (dialect.hasSpecificCodes || !(error instanceof StorageError)) throw error;
    throw new StorageError('InvalidXmlDocument', { details: error.details, cause: error });
  }
}

function parseOld(root: XmlElement, dialect: PropertiesDialect): Partial<ServiceProperties> {
  const parts = childrenOf(root, ['Logging', 'Metrics']);
  return {
    logging: parseLogging(required(parts, 'Logging'), dialect),
    hourMetrics: parseMetrics(required(parts, 'Metrics')),
  };
}

function parseParts(root: XmlElement, dialect: PropertiesDialect): Partial<ServiceProperties> {
  const parts = childrenOf(root, ['Logging', 'HourMetrics', 'MinuteMetrics', 'Cors']);
  if (parts.size === 0) throw invalidXmlDocument(`${rootName} is empty.`);
  const logging = parts.get('Logging');
  const hourMetrics = parts.get('HourMetrics');
  const minuteMetrics = parts.get('MinuteMetrics');
  const cors = parts.get('Cors');
  return {
    ...(logging === undefined ? {} : { logging: parseLogging(logging, dialect) }),
    ...(hourMetrics === undefined ? {} : { hourMetrics: parseMetrics(hourMetrics) }),
    ...(minuteMetrics === undefined ? {} : { minuteMetrics: parseMetrics(minuteMetrics) }),
    ...(cors === undefined ? {} : { cors: parseCors(cors) }),
  };
}

function parseLogging(part: XmlElement, dialect: PropertiesDialect): LoggingProperties {
  const children = childrenOf(part, ['Version', 'Delete', 'Read', 'Write', 'RetentionPolicy']);
  return {
    version: parseVersion(required(children, 'Version'), dialect.loggingVersions),
    delete: booleanOf(required(children, 'Delete')),
    read: booleanOf(required(children, 'Read')),
    write: booleanOf(required(children, 'Write')),
    retention: parseRetention(required(children, 'RetentionPolicy')),
  };
}

function parseMetrics(part: XmlElement): MetricsProperties {
  const children = childrenOf(part, ['Version', 'Enabled', 'IncludeAPIs', 'RetentionPolicy']);
  const version = parseVersion(required(children, 'Version'), metricsVersions);
  const enabled = booleanOf(required(children, 'Enabled'));
  if (!enabled && children.has('IncludeAPIs')) {
    throw invalidXmlDocument(`${part.name} is not enabled, so it must have no IncludeAPIs.`);
  }
  return {
    version,
    enabled,
    ...(enabled ? { includeApis: booleanOf(required(children, 'IncludeAPIs')) } : {}),
    retention: parseRetention(required(children, 'RetentionPolicy')),
  };
}

/** The days of a disabled policy are dropped. */
function parseRetention(part: XmlElement): RetentionPolicy {
  const children = childrenOf(part, ['Enabled', 'Days']);
  const enabled = booleanOf(required(children, 'Enabled'));
  if (!enabled) return { enabled };
  return { enabled, days: integerOf(required(children, 'Days'), 1, retentionDaysMax) };
}

function parseVersion(leaf: XmlElement, versions: readonly string[]): string {
  const version = textOf(leaf).trim();
  if (versions.includes(version)) return version;
  throw invalidXmlNode(leaf.name, version, `It must be ${versions.join(' or ')}.`);
}

/** The body of Get Service Properties, in the form of the request's version. */
export function renderServiceProperties(properties: ServiceProperties, version: string): Buffer {
  const { logging, hourMetrics, minuteMetrics, cors } = properties;
  const parts =
    version < corsVersion
      ? [renderLogging(logging), renderMetrics('Metrics', hourMetrics)]
      : [
          renderLogging(logging),
          renderMetrics('HourMetrics', hourMetrics),
          renderMetrics('MinuteMetrics', minuteMetrics),
          renderCors(cors),
        ];
  return xmlDocument(element(rootName, parts.join('')));
}

function renderLogging(logging: LoggingProperties): string {
  const children = [
    textElement('Version', logging.version),
    element('Read', String(logging.read)),
    element('Write', String(logging.write)),
    element('Delete', String(logging.delete)),
    renderRetention(logging.retention),
  ];
  return element('Logging', children.join(''));
}

function renderMetrics(name: string, metrics: MetricsProperties): string {
  const { version, enabled, includeApis, retention } = metrics;
  const children = [
    textElement('Version', version),
    element('Enabled', String(enabled)),
    includeApis === undefined ? '' : element('IncludeAPIs', String(includeApis)),
    renderRetention(retention),
  ];
  return element(name, children.join(''));
}

function renderRetention({ enabled, days }: RetentionPolicy): string {
  const children = [
    element('Enabled', String(enabled)),
    days === undefined ? '' : element('Days', String(days)),
  ];
  return element('RetentionPolicy', children.join(''));
}
