import { list, text, whole, type Shape } from '../../base/shape/shape.js';
import { limitsShape, type HttpLimits } from '../../http/pipeline/limits.js';
import { serviceNames, services, type ServiceName } from '../../model/services/services.js';
import { option, type Flag, type Option } from './option.js';

export const portMax = 65_535;
export const port: Shape<number> = whole(0, portMax);

const keepAliveSecondsMax = 3600;
const hostsMax = 1_000;
const hostCharactersMax = 253;

/** A host name, `.example.com` for all names under it, `*` for all names. */
const hostName = text({
  pattern: /^(\*|\.?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?)$/,
  charactersMax: hostCharactersMax,
  expected: 'a host name without scheme and port, .example.com for all names under it, or *',
});

/** Node.js treats an empty address as all networks. */
const address = text({
  pattern: /\S/,
  expected: 'an address; 0.0.0.0 listens on every network',
});

export const addressOptions = {
  /** The address to listen on. Default `127.0.0.1`. */
  host: option({
    shape: address,
    help: 'the address to listen on; 0.0.0.0 for every network',
    defaultValue: '127.0.0.1',
    group: 'Addresses:',
    flags: [{ spelling: '--host <address>', form: 'text', variable: 'TABULARIUM_HOST' }],
    file: { member: 'host', example: '0.0.0.0' },
  }),
  /**
   * Host names to which an account with a public key answers, such as the development account. It
   * always answers to names that web pages cannot have: addresses, names of one label (`localhost`,
   * a container), names under `.localhost`, `.local`, `.internal`, `.home.arpa`, `.test`,
   * `.example`, `.invalid` and `.core.windows.net`, and the name of the machine. `.example.com`
   * stands for all names under it, `*` for all. Default: none more.
   */
  allowHosts: option({
    shape: list(hostName, { max: hostsMax }),
    help:
      'answer requests for the development account under this host name as well; .example.com for ' +
      'all names under it, * for all',
    defaultWords: 'none but those that pages of the web cannot have',
    group: 'Addresses:',
    flags: [{ spelling: '--allow-host <name>', form: 'names', variable: 'TABULARIUM_ALLOW_HOST' }],
    file: {
      member: 'allowHosts',
      help:
        'host names to which an account with a public key answers as well, such as the development ' +
        'account; .example.com for all names under it, * for all',
      example: ['storage.example.com'],
    },
    page: 'configuration.md#host-names',
  }),
  /** The port of the table service. 0, the default, takes a free one. */
  tablePort: portOption('table'),
  /** The port of the queue service. 0, the default, takes a free one. */
  queuePort: portOption('queue'),
  /** The port of the blob service. 0, the default, takes a free one. */
  blobPort: portOption('blob'),
  /** Where the table service listens instead of `host`. */
  tableHost: hostOption('table'),
  /** Where the queue service listens instead of `host`. */
  queueHost: hostOption('queue'),
  /** Where the blob service listens instead of `host`. */
  blobHost: hostOption('blob'),
  /** Bounds that differ from the defaults, for every service. */
  limits: option({
    shape: limitsShape,
    help: 'bounds of HTTP for every service; those of a service go before them',
    file: { member: 'limits', example: { connectionsMax: 2000 } },
    page: 'configuration.md#limits',
  }),
  /** Bounds of the table service that differ from `limits`. */
  tableLimits: limitsOption('table'),
  /** Bounds of the queue service that differ from `limits`. */
  queueLimits: limitsOption('queue'),
  /** Bounds of the blob service that differ from `limits`. */
  blobLimits: limitsOption('blob'),
} satisfies Record<ServiceOptionName, Option> & Record<string, Option>;

type ServiceOption = 'Port' | 'Host' | 'Limits';
type ServiceOptionName = `${ServiceName}${ServiceOption}`;

/** An option with a value per service, keyed by the options' names. */
export function byServiceOption<Suffix extends ServiceOption, Value>(
  suffix: Suffix,
  valueOf: (service: ServiceName) => Value,
): Record<`${ServiceName}${Suffix}`, Value> {
  const values = serviceNames.map((service) => [`${service}${suffix}`, valueOf(service)] as const);
  return Object.fromEntries(values) as Record<`${ServiceName}${Suffix}`, Value>;
}

function portOption(service: ServiceName): Option<number> {
  const { plural, emulatorPort } = services[service];
  return option({
    shape: port,
    help: `the port of the ${service} service; 0 picks a free one`,
    defaultValue: 0,
    startDefault: emulatorPort,
    group: 'Addresses:',
    flags: portFlags(service),
    file: { member: `${plural}.port`, example: emulatorPort },
  });
}

function hostOption(service: ServiceName): Option<string> {
  return option({
    shape: address,
    help: `where the ${service} service listens instead of host`,
    defaultWords: 'as host',
    flags: [hostFlag(service)],
    file: { member: `${services[service].plural}.host`, example: '0.0.0.0' },
  });
}

function limitsOption(service: ServiceName): Option<Partial<HttpLimits>> {
  return option({
    shape: limitsShape,
    help: `bounds of HTTP for the ${service} service`,
    defaultWords: 'as limits',
    flags: [keepAliveFlag(service)],
    file: { member: `${services[service].plural}.limits`, example: { keepAliveTimeoutMs: 30_000 } },
    page: 'configuration.md#limits',
  });
}

function portFlags(service: ServiceName): readonly Flag[] {
  const variable = `TABULARIUM_${service.toUpperCase()}_PORT`;
  return [
    { spelling: `--${service}-port <port>`, form: 'number', variable },
    {
      spelling: `--${service}Port <port>`,
      form: 'number',
      help: `as --${service}-port`,
      isOfAzurite: true,
    },
  ];
}

function hostFlag(service: ServiceName): Flag {
  return {
    spelling: `--${service}Host [address]`,
    form: 'perhaps',
    help: `as --host, for the ${service} service alone`,
    isOfAzurite: true,
  };
}

function keepAliveFlag(service: ServiceName): Flag {
  return {
    spelling: `--${service}KeepAliveTimeout <seconds>`,
    form: 'number',
    shape: whole(1, keepAliveSecondsMax),
    help: `how long an idle connection of the ${service} service is kept (default: 60)`,
    part: 'keepAliveTimeoutMs',
    completes: true,
    isOfAzurite: true,
  };
}
