import {
  boolean,
  choice,
  either,
  list,
  member,
  object,
  text,
  whole,
  type Shape,
} from '../../base/shape/shape.js';
import { lenientItemNames, type LenientItem } from '../../http/operations/request-rules.js';
import { deleteDelayMsMax } from '../../services/containers/name-reservations.js';
import { option, type OptionsOf } from './option.js';

const lenient: Shape<boolean | readonly LenientItem[]> = either([
  boolean,
  list(choice(lenientItemNames)),
]);

/** A duration on a command line or in a file. */
export const delayShape: Shape<string | number> = either(
  [text({ pattern: /^[0-9]{1,9}(ms|s|m)?$/ }), whole(0, deleteDelayMsMax / 1000)],
  {
    expected: `at most ${deleteDelayMsMax / 60_000}m: seconds, or a number with ms, s or m, such as 40s`,
  },
);

export interface PagingSeed {
  readonly seed: string | number;
}

const seed: Shape<string | number> = either([text({ charactersMin: 0 }), whole(-Infinity)], {
  expected: 'a text or a whole number',
});

const paging: Shape<boolean | PagingSeed> = either([
  boolean,
  object<PagingSeed>(
    { seed: member(seed, 'Makes the pages the same in every run.', 7) },
    { required: ['seed'], expected: 'an object with a seed' },
  ),
]);

const group = 'How exactly to do as the cloud service does:';

export const strictnessRows = {
  /**
   * Refuse requests whose date is more than 15 minutes off, as the cloud service does. Default
   * true. Turn it off together with a `clock` that does not tell the real time.
   */
  checkClockSkew: option({
    shape: boolean,
    help: 'refuse requests whose date is more than 15 minutes off',
    defaultValue: true,
    group,
    flags: [
      {
        spelling: '--no-clock-check',
        form: 'off',
        help: 'accept requests whose date is more than 15 minutes off',
      },
    ],
    file: { member: 'checkClockSkew', example: true },
  }),
  /**
   * Accept what the cloud service refuses: `true` for all of it, or the names of single items.
   * Default: nothing.
   */
  lenient: option({
    shape: lenient,
    help: 'accept what the cloud service refuses: all of it, or some items',
    defaultValue: false,
    group,
    flags: [
      {
        spelling: '--lenient [items]',
        form: 'names',
        help: 'accept what the cloud service refuses: all that is listed below, or items separated by commas',
      },
    ],
    file: { member: 'lenient', example: ['clock', 'top'] },
    page: 'strictness.md',
  }),
  /**
   * Refuse an `x-ms-version` that the cloud service is not known to have. Default false: any date
   * since the first version is served, so that new client releases keep working.
   */
  strictApiVersions: option({
    shape: boolean,
    help: 'refuse versions of the protocol that the cloud service does not have',
    defaultValue: false,
    group,
    flags: [{ spelling: '--strict-api-versions', form: 'on' }],
    file: { member: 'strictApiVersions', example: true },
    page: 'strictness.md#versions-of-the-protocol',
  }),
  /**
   * How long the name of a deleted table stays taken (409 `TableBeingDeleted`), in milliseconds, at
   * most ten minutes. The cloud service takes 40 seconds and more. Default 0: it is free at once.
   */
  tableDeleteDelayMs: option({
    shape: whole(0, deleteDelayMsMax),
    help: 'for how many milliseconds the name of a deleted table stays taken',
    defaultValue: 0,
    group,
    flags: [
      {
        spelling: '--simulate-table-delete-delay <time>',
        form: 'text',
        shape: delayShape,
        help: 'keep the name of a deleted table taken, for 40s as the cloud service does, or for 500ms or 1m',
      },
    ],
    file: {
      member: 'simulateTableDeleteDelay',
      shape: delayShape,
      help: 'for how long the name of a deleted table stays taken, at most 10m: seconds, or a number with ms, s or m',
      example: '40s',
    },
    page: 'strictness.md#deleting-slowly',
  }),
  /**
   * How long the name of a deleted container of blobs stays taken (409 `ContainerBeingDeleted`), in
   * milliseconds, at most ten minutes. The cloud service takes 30 seconds and more. Default 0: it
   * is free at once.
   */
  containerDeleteDelayMs: option({
    shape: whole(0, deleteDelayMsMax),
    help: 'for how many milliseconds the name of a deleted container of blobs stays taken',
    defaultValue: 0,
    group,
    flags: [
      {
        spelling: '--simulate-container-delete-delay <time>',
        form: 'text',
        shape: delayShape,
        help: 'keep the name of a deleted container of blobs taken, for 30s as the cloud service does, or for 500ms or 1m',
      },
    ],
    file: {
      member: 'simulateContainerDeleteDelay',
      shape: delayShape,
      help: 'for how long the name of a deleted container of blobs stays taken, at most 10m: seconds, or a number with ms, s or m',
      example: '30s',
    },
    page: 'strictness.md#deleting-slowly',
  }),
  /**
   * Answer queries and lists in pages of every legal shape. The same seed gives the same shapes;
   * `true` is the seed `'0'`. Default false.
   */
  pagingTestMode: option({
    shape: paging,
    help: 'answer queries and lists in pages of every legal shape, to test clients; a seed repeats them',
    defaultValue: false,
    group,
    flags: [{ spelling: '--paging-test-mode [seed]', form: 'perhaps' }],
    file: { member: 'pagingTestMode', example: { seed: 7 } },
    page: 'strictness.md#testing-paging',
  }),
};

/** How strictly a server follows the cloud service, and what it simulates for tests. */
export interface StrictnessOptions extends Omit<
  OptionsOf<typeof strictnessRows>,
  'checkClockSkew'
> {}
