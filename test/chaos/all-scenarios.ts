import { diskDamageScenarios } from './disk-damage.js';
import { diskFaultScenarios } from './disk-faults.js';
import { processScenarios } from './process-deaths.js';
import type { Scenario } from './scenario.js';
import { signalScenarios } from './signals.js';
import { socketScenarios } from './sockets.js';

export const allScenarios: readonly Scenario[] = [
  ...socketScenarios,
  ...signalScenarios,
  ...processScenarios,
  ...diskFaultScenarios,
  ...diskDamageScenarios,
];
