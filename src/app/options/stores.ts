import { boolean, choice, member, object, record, text } from '../../base/shape/shape.js';
import { option } from './option.js';

/** One of several stores. Exactly one of `location`, `postgresUrl` and `inMemory` says where. */
export interface MemberOptions {
  readonly location?: string;
  readonly postgresUrl?: string;
  readonly postgresSchema?: string;
  readonly inMemory?: boolean;
}

export const memberNames = /^[a-z][a-z0-9-]{0,31}$/;

export const memberShape = object<MemberOptions>(
  {
    location: member(text(), 'A data directory; made when it does not exist.', '/mnt/b/tabularium'),
    postgresUrl: member(
      text(),
      'A database, in the form of postgresUrl.',
      'postgres://tabularium@db-b.example:5432/tabularium',
    ),
    postgresSchema: member(
      text(),
      'The schema of the tables in the database. Default: tabularium.',
      'tabularium',
    ),
    inMemory: member(
      boolean,
      'In memory, for tests. The home store has to be there as well.',
      true,
    ),
  },
  {
    definition: {
      name: 'store',
      description: 'A store beside the home store: a data directory or a database.',
    },
  },
);

export const storesOptions = {
  /**
   * The stores beside the home store, which `location` or `postgresUrl` says, by name: the data are
   * then spread over all of them, range by range. `{}`: there is none yet. Data that were spread
   * once are opened with all of their stores. See docs/guides/scaling.md.
   */
  stores: option({
    shape: record(memberShape, { names: memberNames }),
    help:
      'the stores beside the home store (location or postgresUrl) that have the data together with ' +
      'it, by name; {} when there is none yet',
    defaultWords: 'none; all data are in one location',
    group: 'Data:',
    file: {
      member: 'stores',
      example: { b: { location: '/mnt/b/tabularium' } },
      paths: ['*.location'],
    },
    page: '../guides/scaling.md',
  }),
  /**
   * Whether ranges follow the load over the stores: `off`; `advise`, the default, plans and says so
   * in the log; `on` carries the plans out.
   */
  balancer: option({
    shape: choice(['off', 'advise', 'on']),
    help: 'with stores: whether ranges follow the load: off; advise, which only says what it would do; on',
    defaultValue: 'advise',
    group: 'Data:',
    flags: [{ spelling: '--balancer <mode>', form: 'text', variable: 'TABULARIUM_BALANCER' }],
    file: { member: 'balancer', example: 'on' },
    page: '../guides/scaling.md#balancing',
  }),
};
