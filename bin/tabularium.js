#!/usr/bin/env node
// Nothing here that Node 10 cannot parse: an old release has to be told what is missing.
const found = process.versions.node.split('.').map(Number);

if (found[0] > 20 || (found[0] === 20 && found[1] >= 19)) {
  void import('../dist/src/cli/main.js').then(function (cli) {
    return cli.main(process.argv);
  });
} else {
  process.stderr.write(
    'error: tabularium needs Node.js 20.19 or later; this is ' +
      process.versions.node +
      '. Install a later release: https://nodejs.org\n',
  );
  process.exitCode = 1;
}
