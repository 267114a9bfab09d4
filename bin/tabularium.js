#!/usr/bin/env node
// Nothing here that Node 10 cannot parse: an old release has to be told what is missing.
const found = process.versions.node.split('.').map(Number);

// SIGHUP never ends a server, and can come while the program is being loaded. Other commands end by
// it, as soon as it is known that they are none of a server.
let isHungUp = false;
function holdHangup() {
  isHungUp = true;
}
process.on('SIGHUP', holdHangup);
function releaseHangup() {
  process.removeListener('SIGHUP', holdHangup);
  if (isHungUp) process.kill(process.pid, 'SIGHUP');
}

if (found[0] > 20 || (found[0] === 20 && found[1] >= 19)) {
  void import('../dist/src/cli/main.js').then(function (cli) {
    return cli.main(process.argv, releaseHangup);
  });
} else {
  process.stderr.write(
    'error: tabularium needs Node.js 20.19 or later; this is ' +
      process.versions.node +
      '. Install a later release: https://nodejs.org\n',
  );
  process.exitCode = 1;
}
