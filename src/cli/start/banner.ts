import { endpointOf, endpointsByPlural } from '../../app/endpoints.js';
import type { ServerEndpoints, TabulariumServer } from '../../app/index.js';
import { journalOf } from '../../app/settings.js';
import { serviceNames, services } from '../../model/services/services.js';
import { developmentAccount, type AccountSettings } from '../../services/accounts/directory.js';
import type { StartSettings } from './settings.js';
import { printable } from '../terminal/terminal.js';
import { interceptorLines } from './interceptor-lines.js';
import { oauthLines } from './oauth-options.js';
import { exposureWarning, reachLines } from './reach.js';
import { strictnessFields, strictnessLines } from './strictness-options.js';
import { tlsLines, trustLines } from './tls-options.js';

type BannerSettings = Pick<StartSettings, 'accounts' | 'process' | 'options' | 'storage'>;

/** The parts of a server that the banner shows. */
type BannerServer = ServerEndpoints &
  Pick<TabulariumServer, 'certificate'> &
  Partial<Pick<TabulariumServer, 'controlPort'>>;

/**
 * The banner, printed once the server listens: endpoints and connection strings. `isPrivate`: the
 * text goes to a person's terminal and not to a log.
 */
export function bannerText(
  server: BannerServer,
  { accounts, process: { workers }, options, storage }: BannerSettings,
  { isPrivate }: { readonly isPrivate: boolean },
): string {
  const isRelaxed = options.inMemory !== true && options.durability === 'relaxed';
  const isJournaled = workers === 1 && journalOf(options) === 'on';
  const notes = `${isRelaxed ? ' (relaxed durability)' : ''}${isJournaled ? ' (journal)' : ''}`;
  const lines = [
    'Tabularium',
    ...serviceNames.map((service) => {
      const { plural } = services[service];
      const heading = plural.charAt(0).toUpperCase() + plural.slice(1);
      return `  ${heading.padEnd(11)} ${endpointOf(server, service)}`;
    }),
    ...reachLines({ options }),
    `  Data        ${printable(storage)}${notes}`,
    ...(workers > 1 ? [`  Workers     ${workers}`] : []),
    ...tlsLines(server.certificate),
    ...oauthLines(options),
    ...strictnessLines(options),
    ...interceptorLines(options),
    ...(server.controlPort === undefined
      ? []
      : [`  Control     http://127.0.0.1:${server.controlPort}`]),
  ];
  for (const account of accounts) {
    lines.push('', `  Connect to ${account.name} with`);
    if (isDevelopmentDefault(account, server)) lines.push('    UseDevelopmentStorage=true');
    lines.push(`    ${shownConnectionString(account, server, isPrivate)}`);
  }
  lines.push(...trustLines(server.certificate, options));
  const warning = exposureWarning({ accounts, options });
  if (warning !== undefined) lines.push('', `  WARNING     ${warning}`);
  lines.push('', 'Press Ctrl+C, or send SIGTERM, to stop.', '');
  return lines.join('\n');
}

/** What the banner shows, for the log, without any key. */
export function listeningFields(
  server: ServerEndpoints,
  { process: { workers }, options, storage }: BannerSettings,
): Record<string, unknown> {
  const { durability } = options;
  const journal = workers === 1 ? journalOf(options) : 'off';
  return {
    ...endpointsByPlural(server),
    storage,
    ...(options.inMemory === true ? {} : { durability, journal }),
    workers,
    ...(options.oauth === undefined ? {} : { tokensOf: options.oauth.issuer }),
    ...strictnessFields(options),
  };
}

function isDevelopmentKey({ name, keys }: AccountSettings): boolean {
  return name === developmentAccount.name && keys[0] === developmentAccount.keys[0];
}

/** True when clients with emulator defaults reach every service here. */
function isDevelopmentDefault(account: AccountSettings, server: ServerEndpoints): boolean {
  return (
    isDevelopmentKey(account) &&
    serviceNames.every((service) => {
      const { emulatorPort } = services[service];
      return endpointOf(server, service).startsWith(`http://127.0.0.1:${emulatorPort}/`);
    })
  );
}

/** A secret key is never logged. */
function shownConnectionString(
  account: AccountSettings,
  server: ServerEndpoints,
  isPrivate: boolean,
): string {
  const text = server.connectionString(account.name);
  if (isPrivate || isDevelopmentKey(account)) return text;
  return text.replace(/AccountKey=[^;]*/, `AccountKey=<the key of ${account.name}>`);
}
