import { parseArgs } from 'node:util';
import { simulate } from './simulation.js';
import { protections, type Without } from './life.js';

// The long form of the simulated losses of power: docs/internals/correctness.md.

const usage = `npm run sim:journal -- [--images N] [--seed S] [--without PROTECTION]

  --images N            how many disks are looked at, 1,000 by default
  --seed S              of the first; each has the next. A fresh one by default
  --without PROTECTION  leaves out ${protections.join(', ')}: it should be found soon
  --help                shows this
`;

interface Plan {
  readonly images: number;
  readonly seed: number;
  readonly without: Without | undefined;
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} must be a whole number, not '${text}'`);
}

function protection(text: string | undefined): Without | undefined {
  const found = protections.find((each) => each === text);
  if (text === undefined || found !== undefined) return found;
  throw new Error(`--without must be one of ${protections.join(', ')}, not '${text}'`);
}

function readPlan(): Plan {
  const { values } = parseArgs({
    options: {
      images: { type: 'string' },
      seed: { type: 'string' },
      without: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const fresh = String(Math.floor(Math.random() * 2 ** 31));
  return {
    images: number('images', values.images ?? '1000'),
    seed: number('seed', values.seed ?? fresh),
    without: protection(values.without),
  };
}

/** Exits with 2 when the arguments make no sense. */
function planOrExit(): Plan {
  try {
    return readPlan();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}

const { images, seed, without } = planOrExit();
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
