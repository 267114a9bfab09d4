import { describe } from 'node:test';
import { commitsConformance } from './commits.js';
import { countersConformance } from './counters.js';
import { guardsConformance } from './members.js';
import { modelConformance } from './model.js';
import { processesConformance } from './processes.js';
import { rangesConformance } from './ranges.js';
import { readsConformance } from './reads.js';
import type { ConformanceSuite } from './suite.js';
import { transfersConformance } from './transfers.js';
import { versionsConformance } from './versions.js';

/**
 * The contract of `Store` as tests of node:test. Every engine and every composed store runs it from
 * its own test file; its capabilities say which optional parts apply.
 */
export function storeConformance(suite: ConformanceSuite): void {
  describe(`${suite.name} keeps the contract of a store`, () => {
    describe('reads', () => readsConformance(suite));
    describe('ranges', () => rangesConformance(suite));
    describe('commits', () => commitsConformance(suite));
    describe('counters', () => countersConformance(suite));
    describe('versions', () => versionsConformance(suite));
    describe('durability and processes', () => processesConformance(suite));
    if (suite.capabilities.member) {
      describe('guards', () => guardsConformance(suite));
      describe('transfers', () => transfersConformance(suite));
    }
    describe('model', () => modelConformance(suite));
  });
}
