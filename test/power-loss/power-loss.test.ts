import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { byLength, costly } from '../support/run-length.js';
import { seedSetting } from '../support/sim-settings.js';
import { simulate } from './simulation.js';
import { protections } from './life.js';

const images = byLength({ short: 40, long: 10_000 });
const canaryImages = 1000;

describe('losses of power', () => {
  const seed = seedSetting('TABULARIUM_POWER_SEED');

  it(`leave what a journal has acknowledged, in ${images} images of a disk`, async () => {
    for (let image = seed; image < seed + images; image += 1) {
      await simulate({ seed: image }).catch((cause: unknown) => {
        throw new Error(`npm run sim:journal -- --images 1 --seed ${image}`, { cause });
      });
    }
  });

  for (const without of protections) {
    it(`are noticed where the journal does without its ${without}`, costly(), async () => {
      const find = async (): Promise<void> => {
        for (let image = 0; image < canaryImages; image += 1)
          await simulate({ seed: image, without });
      };
      await assert.rejects(find());
    });
  }
});
