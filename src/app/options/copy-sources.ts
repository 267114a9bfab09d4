import { boolean, list, member, object, text, whole, type Shape } from '../../base/shape/shape.js';
import type { SourceRules } from '../../http/sources/source-hosts.js';
import { option } from './option.js';

const hostsMax = 1_000;
const hostCharactersMax = 262;

/** The default longest source: 100 GiB. */
const bytesMaxStandard = 100 * 1024 ** 3;

/** Which blobs of other servers this one copies. */
export interface CopySourcesOptions {
  /**
   * Hosts that the server may ask: a name or an address, `.example.com` for all names under it, `*`
   * for all; with a port behind a colon, or `:*` for every port. Without one: 80 and 443.
   */
  readonly hosts: readonly string[];
  /**
   * Whether such a host may have an address of this machine, of a private network or of its link,
   * as the metadata services of clouds have them. Default false.
   */
  readonly privateNetworks?: boolean;
  /** The longest source, in bytes. Default: 100 GiB. */
  readonly bytesMax?: number;
}

const host = text({
  pattern:
    /^(\*|\.?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(:([0-9]{1,5}|\*))?$/,
  charactersMax: hostCharactersMax,
  expected:
    'a host without scheme, .example.com for all names under it, or *; a port or * may follow ' +
    'behind a colon',
});

const copySources: Shape<CopySourcesOptions> = object<CopySourcesOptions>(
  {
    hosts: member(
      list(host, { min: 1, max: hostsMax }),
      'Hosts that the server may ask: .example.com for all names under it, * for all; with :port or :*.',
      ['store.example.com', '.blob.core.windows.net'],
    ),
    privateNetworks: member(
      boolean,
      'Whether they may be this machine or in its networks. Default: false.',
      true,
    ),
    bytesMax: member(
      whole(0),
      'The longest source, in bytes. Default: 107374182400.',
      1_073_741_824,
    ),
  },
  { required: ['hosts'] },
);

export const copySourceOptions = {
  /** Copy blobs of other servers. Default: none. */
  copySources: option({
    shape: copySources,
    help: 'other servers that blobs are copied from',
    defaultWords: 'none',
    group: 'Copies from other servers:',
    flags: [
      {
        spelling: '--copy-source <host>',
        form: 'names',
        part: 'hosts',
        help:
          'copy blobs from this host; .example.com for all names under it, * for all; with :port ' +
          'or :* for others than 80 and 443',
        variable: 'TABULARIUM_COPY_SOURCES',
      },
      {
        spelling: '--copy-source-private',
        form: 'on',
        part: 'privateNetworks',
        completes: true,
        help: 'such a host may be this machine or in its networks',
      },
    ],
    file: {
      member: 'copySources',
      example: { hosts: ['store.example.com', '.blob.core.windows.net'] },
    },
    page: 'copy-sources.md',
  }),
};

/** The rules of the options, with every default. */
export function sourceRulesOf({
  hosts,
  privateNetworks = false,
  bytesMax = bytesMaxStandard,
}: CopySourcesOptions): SourceRules {
  return { hosts, privateNetworks, bytesMax };
}
