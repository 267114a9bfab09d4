import { invalidXmlDocument, invalidXmlNode } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type {
  DeleteRetention,
  LoggingProperties,
  MetricsProperties,
  RetentionPolicy,
  ServiceProperties,
  StaticWebsite,
} from '../../model/resources/service-properties.js';
import { knownApiVersions } from '../http/api-versions.js';
import { booleanOf, childrenOf, expectRoot, integerOf, required, textOf } from './content-model.js';
import { parseCors, renderCors } from './cors-rules.js';
import { element, textElement, xmlDocument } from './element.js';
import { parseXml, type XmlElement } from './reader.js';
import {
  corsVersion,
  deleteRetentionVersion,
  permanentDeleteVersion,
  staticWebsiteVersion,
} from './versions.js';

/** The differences between the property documents of services. */
export interface PropertiesDialect {
  readonly loggingVersions: readonly string[];
  /** True when faults have their own codes; otherwise every one is `InvalidXmlDocument`. */
  readonly hasSpecificCodes: boolean;
  /** The parts that not every service has. */
  readonly ownParts: readonly OwnPart[];
}

type OwnPart = 'DefaultServiceVersion' | 'DeleteRetentionPolicy' | 'StaticWebsite';

/** See queue-service §6.2. */
export const queueProperties: PropertiesDialect = {
  loggingVersions: ['1.0', '2.0'],
  hasSpecificCodes: true,
  ownParts: [],
};

/** See blob-service §6.2. */
export const blobProperties: PropertiesDialect = {
  ...queueProperties,
  ownParts: ['DefaultServiceVersion', 'DeleteRetentionPolicy', 'StaticWebsite'],
};

/** See table-service §3.15. */
export const tableProperties: PropertiesDialect = {
  loggingVersions: ['1.0'],
  hasSpecificCodes: false,
  ownParts: [],
};

const metricsVersions = ['1.0'];
const retentionDaysMax = 365;
/** Longest name or path of a document of the website: that of a blob. */
const documentLengthMax = 1_024;
const rootName = 'StorageServiceProperties';

/**
 * The parts that a body sets. From version 2013-08-15 on, at least one of them; before, all of that
 * time, with hour metrics as `Metrics`; of blobs perhaps a default version as well. Each part is
 * complete.
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
  const own = dialect.ownParts.filter((name) => name === 'DefaultServiceVersion');
  const parts = childrenOf(root, ['Logging', 'Metrics', ...own]);
  return {
    logging: parseLogging(required(parts, 'Logging'), dialect),
    hourMetrics: parseMetrics(required(parts, 'Metrics')),
    ...parseOwnParts(parts),
  };
}

function parseParts(root: XmlElement, dialect: PropertiesDialect): Partial<ServiceProperties> {
  const common = ['Logging', 'HourMetrics', 'MinuteMetrics', 'Cors'] as const;
  const parts = childrenOf(root, [...common, ...dialect.ownParts]);
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
    ...parseOwnParts(parts),
  };
}

function parseOwnParts(parts: ReadonlyMap<string, XmlElement>): Partial<ServiceProperties> {
  const version = parts.get('DefaultServiceVersion');
  const retention = parts.get('DeleteRetentionPolicy');
  const website = parts.get('StaticWebsite');
  return {
    ...(version === undefined ? {} : { defaultServiceVersion: parseDefaultVersion(version) }),
    ...(retention === undefined ? {} : { deleteRetention: parseDeleteRetention(retention) }),
    ...(website === undefined ? {} : { staticWebsite: parseStaticWebsite(website) }),
  };
}

function parseDefaultVersion(leaf: XmlElement): string {
  const version = textOf(leaf).trim();
  if (knownApiVersions.includes(version)) return version;
  throw invalidXmlNode(leaf.name, version, 'It must be a version of the service.');
}

function parseDeleteRetention(part: XmlElement): DeleteRetention {
  const children = childrenOf(part, ['Enabled', 'Days', 'AllowPermanentDelete']);
  const permanent = children.get('AllowPermanentDelete');
  return {
    ...retentionOf(children),
    allowPermanentDelete: permanent === undefined ? false : booleanOf(permanent),
  };
}

/** The documents of a disabled website are dropped. */
function parseStaticWebsite(part: XmlElement): StaticWebsite {
  const documents = ['IndexDocument', 'DefaultIndexDocumentPath', 'ErrorDocument404Path'] as const;
  const children = childrenOf(part, ['Enabled', ...documents]);
  const enabled = booleanOf(required(children, 'Enabled'));
  if (!enabled) return { enabled };
  const [index, path, notFound] = documents.map((name) => parseDocumentName(children.get(name)));
  return {
    enabled,
    ...(index === undefined ? {} : { indexDocument: index }),
    ...(path === undefined ? {} : { defaultIndexDocumentPath: path }),
    ...(notFound === undefined ? {} : { errorDocument404Path: notFound }),
  };
}

/** Undefined also for an empty element. */
function parseDocumentName(leaf: XmlElement | undefined): string | undefined {
  const text = leaf === undefined ? '' : textOf(leaf).trim();
  if (leaf === undefined || text === '') return undefined;
  if (text.length <= documentLengthMax) return text;
  throw invalidXmlNode(leaf.name, text, `It may have at most ${documentLengthMax} characters.`);
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

function parseRetention(part: XmlElement): RetentionPolicy {
  return retentionOf(childrenOf(part, ['Enabled', 'Days']));
}

/** The days of a disabled policy are dropped. */
function retentionOf(children: ReadonlyMap<string, XmlElement>): RetentionPolicy {
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
  const own = renderOwnParts(properties, version);
  const parts =
    version < corsVersion
      ? [renderLogging(logging), renderMetrics('Metrics', hourMetrics), own]
      : [
          renderLogging(logging),
          renderMetrics('HourMetrics', hourMetrics),
          renderMetrics('MinuteMetrics', minuteMetrics),
          renderCors(cors),
          own,
        ];
  return xmlDocument(element(rootName, parts.join('')));
}

/** The parts of blobs, which other services do not have. */
function renderOwnParts(properties: ServiceProperties, version: string): string {
  const { defaultServiceVersion, deleteRetention, staticWebsite } = properties;
  let parts = '';
  if (defaultServiceVersion !== undefined) {
    parts += textElement('DefaultServiceVersion', defaultServiceVersion);
  }
  if (deleteRetention !== undefined && version >= deleteRetentionVersion) {
    parts += element('DeleteRetentionPolicy', deletionChildren(deleteRetention, version));
  }
  if (staticWebsite !== undefined && version >= staticWebsiteVersion) {
    parts += renderStaticWebsite(staticWebsite);
  }
  return parts;
}

function deletionChildren(policy: DeleteRetention, version: string): string {
  const children = retentionChildren(policy);
  if (version < permanentDeleteVersion) return children;
  return children + element('AllowPermanentDelete', String(policy.allowPermanentDelete));
}

function renderStaticWebsite(website: StaticWebsite): string {
  const { enabled, indexDocument, defaultIndexDocumentPath, errorDocument404Path } = website;
  let children = element('Enabled', String(enabled));
  for (const [name, text] of [
    ['IndexDocument', indexDocument],
    ['DefaultIndexDocumentPath', defaultIndexDocumentPath],
    ['ErrorDocument404Path', errorDocument404Path],
  ] as const) {
    if (text !== undefined) children += textElement(name, text);
  }
  return element('StaticWebsite', children);
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

function renderRetention(policy: RetentionPolicy): string {
  return element('RetentionPolicy', retentionChildren(policy));
}

function retentionChildren({ enabled, days }: RetentionPolicy): string {
  const children = element('Enabled', String(enabled));
  return days === undefined ? children : children + element('Days', String(days));
}
