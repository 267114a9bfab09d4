// Puts many-runs-assert.js in the place of fast-check for everybody but itself.
const wrapper = new URL('many-runs-assert.js', import.meta.url).href;

export function resolve(specifier, context, next) {
  if (specifier !== 'fast-check' || context.parentURL === wrapper) return next(specifier, context);
  return { url: wrapper, format: 'module', shortCircuit: true };
}
