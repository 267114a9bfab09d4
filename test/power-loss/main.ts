import { leftOut, planOrExit, seedOr, wholeNumber } from '../support/run-arguments.js';
import { simulate } from './simulation.js';
import { protections } from './life.js';

// The long form of the simulated losses of power: docs/internals/correctness.md.

const usage = `npm run sim:journal -- [--images N] [--seed S] [--without PROTECTION]

  --images N            how many disks are looked at, 1,000 by default
  --seed S              of the first; each has the next. A fresh one by default
  --without PROTECTION  leaves out ${protections.join(', ')}: it should be found soon
  --help                shows this
`;

const { images, seed, without } = planOrExit(usage, ['images', 'seed', 'without'], (given) => ({
  images: wholeNumber('images', given.images ?? '1000'),
  seed: seedOr(given.seed),
  without: leftOut(given.without, protections),
}));
const progressImages = 500;
let losses = 0;
for (let image = 0; image < images; image += 1) {
  try {
    const simulated = await simulate({ seed: seed + image, ...(without && { without }) });
    losses += simulated.losses;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const rest = without === undefined ? '' : ` --without ${without}`;
    process.stdout.write(`image ${image + 1} of ${images}: ${text}\n`);
    process.stdout.write(`npm run sim:journal -- --images 1 --seed ${seed + image}${rest}\n`);
    process.exit(1);
  }
  if ((image + 1) % progressImages === 0) {
    process.stdout.write(`${image + 1} of ${images} images, ${losses} losses of power\n`);
  }
}
process.stdout.write(`${images} images from seed ${seed}, ${losses} losses of power, no finding\n`);
