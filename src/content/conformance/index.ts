import { describe } from 'node:test';
import { damageConformance, scrubConformance } from './damage.js';
import { extentsConformance, linksConformance } from './extents.js';
import { modelConformance } from './model.js';
import { retentionConformance, sessionsConformance } from './orphans.js';
import type { ContentSuite } from './suite.js';

/**
 * The contract of `ContentStore` as tests of node:test. Every kind of content store runs it from
 * its own test file; its capabilities say which optional parts apply.
 */
export function contentConformance(suite: ContentSuite): void {
  describe(`${suite.name} keeps the contract of a content store`, () => {
    describe('extents', () => extentsConformance(suite));
    describe('links', () => linksConformance(suite));
    describe('retention', () => retentionConformance(suite));
    if (suite.capabilities.persistent) describe('sessions', () => sessionsConformance(suite));
    describe('scrub', () => scrubConformance(suite));
    if (suite.capabilities.damageable) describe('damage', () => damageConformance(suite));
    describe('model', () => modelConformance(suite));
  });
}
