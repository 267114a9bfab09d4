import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Hooks for modules, of a tracer or a test, are only called for modules that `import` loads. */
const hooks = /--(import|loader|experimental-loader)\b/;

function mayHaveHooks(): boolean {
  return hooks.test([...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' '));
}

/**
 * Loads a module of this folder with all that it imports, so that a later `import()` of it finds
 * everything loaded. `require` takes two thirds of the time, because it reads one file after the
 * other without a turn of the event loop. Where Node cannot load modules by it, this does nothing.
 */
export function preload(module: `./${string}.js`): void {
  if (process.features.require_module && !mayHaveHooks()) require(module);
}
