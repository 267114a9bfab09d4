import type { Shape } from '../../base/shape/shape.js';
import type { FaultRule } from '../../http/faults/rule.js';
import { faultRulesShape } from '../../http/faults/rule-shape.js';
import { throttleShape } from '../../http/throttle/limits.js';
import { port } from './addresses.js';
import { option, type OptionsOf } from './option.js';

const group = 'To test how clients take failures:';

/** `parseRule` checks which members belong to which kind of effect. */
const faults = faultRulesShape as Shape<readonly FaultRule[]>;

export const interceptorRows = {
  /** Fault rules for requests; see docs/reference/fault-injection.md. Default: none. */
  faults: option({
    shape: faults,
    help: 'faults that requests meet, to test how clients take them',
    defaultWords: 'none',
    group,
    flags: [
      {
        spelling: '--fault <rule>',
        form: 'texts of json',
        help: 'let requests meet a fault, as a rule in JSON says; may be repeated',
      },
    ],
    file: {
      member: 'faults',
      example: [
        {
          operation: 'InsertEntity',
          probability: 0.1,
          effect: { kind: 'error', code: 'ServerBusy', retryAfterSeconds: 1 },
        },
      ],
    },
    reloads: true,
    page: 'fault-injection.md#rules',
  }),
  /** Limits beyond which requests are refused with 503 `ServerBusy`. Default: `off`. */
  throttle: option({
    shape: throttleShape,
    help:
      'refuse requests beyond the limits of the cloud service (azure), or beyond others, with 503 ' +
      'ServerBusy',
    defaultValue: 'off',
    group,
    flags: [
      {
        spelling: '--throttle <limits>',
        form: 'json',
        help: 'refuse requests beyond the limits of the cloud service (azure), or beyond limits in JSON',
        variable: 'TABULARIUM_THROTTLE',
      },
    ],
    file: { member: 'throttle', example: { entitiesPerSecondPerPartition: 500 } },
    reloads: true,
    page: 'fault-injection.md#throttling',
  }),
};

/** What a server does to requests besides serving them, to test clients. */
export interface InterceptorOptions extends OptionsOf<typeof interceptorRows> {}

export const controlRows = {
  /**
   * The port of the control API, which only listens on 127.0.0.1 and needs no credentials: see
   * docs/reference/fault-injection.md. 0 takes a free one. Default: none.
   */
  controlPort: option({
    shape: port,
    help:
      'the port of 127.0.0.1 where programs of this machine control the server: faults, limits, ' +
      'reset, snapshots; 0 picks a free one',
    defaultWords: 'none',
    group,
    flags: [
      { spelling: '--control-port <port>', form: 'number', variable: 'TABULARIUM_CONTROL_PORT' },
    ],
    file: { member: 'controlPort', example: 10_009 },
    page: 'fault-injection.md#control-api',
  }),
};

/** Control of a running server from outside of its process. */
export interface ControlOptions extends OptionsOf<typeof controlRows> {}
